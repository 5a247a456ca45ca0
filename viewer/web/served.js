// Asks the server of this page: for the numbers of a study, for the motion of a member, and whether more members have run.
"use strict";
const servedStudy = (about) => {
  const EVERY = 2000, AGAIN = 5000; // ms between two looks at a study that grows, and at a server that does not answer
  const GONE = "The server of this page does not answer: it was ended, or the connection to it was. Start it again by `shiftjax view --web`.";
  const token = new URLSearchParams(location.search).get("token") || "";
  let pending = null, revision = about.revision;
  const ask = async (path, signal) => {
    try {
      const answer = await fetch(`${path}?of=${revision}`, { headers: { Authorization: `Bearer ${token}` }, cache: "no-store", signal });
      if (answer.headers.get("Content-Type").startsWith("application/json")) {
        const said = await answer.json();
        return answer.ok ? { said } : { error: said.error };
      }
      const buffer = await answer.arrayBuffer(), length = new DataView(buffer).getUint32(0, true);
      return { data: JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length))), bytes: buffer.slice(4 + length) };
    } catch (e) {
      return e.name === "AbortError" ? { aborted: true } : { error: GONE };
    }
  };
  const whole = (answer) => { if (answer.error) throw new Error(answer.error); return answer; };
  const abandon = () => { if (pending) pending.abort(); pending = null; };
  return {
    async study() {
      const answer = whole(await ask("study"));
      revision = answer.data.revision;
      return answer;
    },
    abandon, // the member that was asked for is not wanted any more
    async member(name, tell) { // null where another one was asked for meanwhile
      abandon();
      const mine = pending = new AbortController();
      tell("Its motion is on its way ...");
      for (;;) {
        const answer = await ask(`members/${name}`, mine.signal);
        if (answer.aborted || mine !== pending) return null;
        if (!answer.said) {
          pending = null;
          return whole(answer);
        }
        tell(answer.said.waiting);
      }
    },
    watch(act, tell) { // later numbers, as long as there may be any; `tell` says what is wrong
      const look = async () => {
        const state = await ask("state");
        let wait = EVERY, error = state.error;
        if (state.said && state.said.revision !== revision) {
          const fresh = await ask("study");
          error = fresh.error;
          if (fresh.data) {
            revision = fresh.data.revision;
            act(fresh);
          }
        }
        tell(error || (state.said ? state.said.text : ""));
        if (error) wait = AGAIN;
        if (error || state.said.growing) setTimeout(look, wait);
      };
      if (about.growing) setTimeout(look, EVERY);
    },
  };
};
