// The built-in fetch of Node, Deno and Bun.
const program = globalThis.Deno ? Deno.args[0] : process.argv[2];
const answer = await fetch(program);
console.log(answer.status, await answer.text());
