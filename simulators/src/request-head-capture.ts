/**
 * The bytes of HTTP/1.1 request heads exactly as they came: a parser's view has lost the spaces, the line ends and what it joined.
 * The capture looks at each chunk before the parser does, and the parser's verdict ("a request has arrived") says where to cut, so
 * that nothing is parsed twice and nothing but the chunk in hand is kept while a body passes.
 */
export class RequestHeadCapture {
  #received = '';

  /** @param betweenRequests whether the last request, body included, had been read when this chunk came */
  feed(chunk: Buffer, betweenRequests: boolean): void {
    const bytes = chunk.toString('latin1');
    this.#received = betweenRequests ? this.#received + bytes : bytes;
  }

  /** The head that begins with this request line, as latin1, its empty last line included. */
  take(method: string, path: string, httpVersion: string): string | undefined {
    const start = this.#received.indexOf(`${method} ${path} HTTP/${httpVersion}`);
    const end = start === -1 ? -1 : this.#received.indexOf('\r\n\r\n', start);
    if (end === -1) return undefined;
    const head = this.#received.slice(start, end + 4);
    // What follows may be the next head (pipelining); a body that follows is cut off by the next chunk or the next search.
    this.#received = this.#received.slice(end + 4);
    return head;
  }
}
