/**
 * The bytes of HTTP/1.1 request heads exactly as they came: a parser's view has lost the spaces, the line ends and what it joined.
 * The capture looks at each chunk before the parser does, and the parser's verdict ("a request has arrived, with this line") says where
 * the head is, so that nothing is parsed twice and no more than the chunk in hand is kept while a body passes.
 */
export class RequestHeadCapture {
  #received = '';
  /** Bytes of a body of known length that are still to come. */
  #bodyBytes = 0;

  /** @param betweenRequests whether the last request, body included, had been read when this chunk came */
  feed(chunk: Buffer, betweenRequests: boolean): void {
    const ofBody = Math.min(this.#bodyBytes, chunk.length);
    this.#bodyBytes -= ofBody;
    const bytes = chunk.toString('latin1', ofBody);
    this.#received = betweenRequests ? this.#received + bytes : bytes;
  }

  /**
   * The head that begins with this request line, as latin1, its empty last line included.
   *
   * A body in chunks has no known length: what follows it in its last piece is found by the next request's line, so a test that sends
   * such a body with that very line in it, and pipelines, is misled.
   */
  take(
    line: { method: string; path: string; httpVersion: string },
    contentLength: number,
  ): string | undefined {
    const start = this.#received.indexOf(`${line.method} ${line.path} HTTP/${line.httpVersion}`);
    const end = start === -1 ? -1 : this.#received.indexOf('\r\n\r\n', start);
    if (end === -1) return undefined;
    const head = this.#received.slice(start, end + 4);
    const rest = this.#received.slice(end + 4);
    this.#received = rest.slice(contentLength);
    this.#bodyBytes = Math.max(0, contentLength - rest.length);
    return head;
  }
}
