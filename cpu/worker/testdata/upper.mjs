import { once } from "node:events";
import { serve } from "./ferry_worker.mjs";

await serve(async function* ({ tag, type, payload }, signal) {
  if (payload.length === 0) throw new Error("nothing to do");
  const response = { tag, type, payload: payload.toString().toUpperCase() };
  if (tag === "no tag") yield { payload };
  yield response;
  while (tag === "endless") yield response;
  if (tag !== "wait") return;
  await once(signal, "abort");
  throw new Error("cancelled");
});
