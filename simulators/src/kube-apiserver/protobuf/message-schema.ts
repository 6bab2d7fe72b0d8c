/** How the messages that clients send in protobuf read as JSON: field numbers with names and types, as in the generated.proto files. */

/** `texts`: a message that is nothing but a list of strings. `unread`: may be there, and says nothing that matters. */
export type ScalarType =
  | 'string'
  | 'bytes'
  | 'int'
  | 'bool'
  | 'time'
  | 'quantity'
  | 'intOrString'
  | 'texts'
  | 'unread';

export interface MessageSchema {
  readonly name: string;
  readonly fields: Readonly<Record<number, Field>>;
}

export interface Field {
  /** Empty: its fields belong to the parent, as embedded structs do. */
  readonly name: string;
  readonly type: ScalarType | MessageSchema;
  readonly shape: 'one' | 'list' | 'map';
  /** A pointer in Go: sent only when set, so that a zero means zero. Others are always sent, and a zero means nothing. */
  readonly pointer: boolean;
}

export function message(name: string, fields: Readonly<Record<number, Field>>): MessageSchema {
  return { name, fields };
}

export function one(name: string, type: Field['type']): Field {
  return { name, type, shape: 'one', pointer: typeof type === 'object' };
}

export function text(name: string): Field {
  return one(name, 'string');
}

export function list(name: string, type: Field['type'] = 'string'): Field {
  return { name, type, shape: 'list', pointer: false };
}

/** Keys are strings. */
export function map(name: string, type: ScalarType = 'string'): Field {
  return { name, type, shape: 'map', pointer: false };
}

/** A scalar whose zero counts. */
export function pointer(name: string, type: ScalarType): Field {
  return { name, type, shape: 'one', pointer: true };
}

export function embedded(type: MessageSchema): Field {
  return { name: '', type, shape: 'one', pointer: true };
}
