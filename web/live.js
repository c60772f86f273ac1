// A page that is served asks for newer recordings as long as it is open.

const LIVE_PAUSE_MS = 1000;

class Live {
  // `took(recording)` for each; `said(text)` about how it goes.
  constructor(took, said) {
    Object.assign(this, {took, said});
    this.version = 0;
    this.paused = false;
    this.failures = 0;
  }

  async run() {
    for (;;) {
      if (!this.paused) await this.ask();
      await new Promise(done => setTimeout(done, LIVE_PAUSE_MS * Math.min(1 + this.failures, 10)));
    }
  }

  async ask() {
    try {
      const answer = await fetch('data?after=' + this.version, {cache: 'no-store', credentials: 'omit'});
      if (answer.status === 200) {
        const bytes = new Uint8Array(await answer.arrayBuffer());
        this.version = Number(answer.headers.get('X-Version')) || this.version;
        this.ended = answer.headers.get('X-Ended') === '1';
        this.took(await openRecording(bytes));
      } else if (answer.status !== 204) {
        throw new Error('status ' + answer.status);
      }
      this.failures = 0;
      this.said(answer.headers.get('X-Ended') === '1' ? 'ended' : 'live');
    } catch (error) {
      this.failures++;
      this.said('no connection');
    }
  }
}
