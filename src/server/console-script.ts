// What the console page runs in the browser. The token lives in one variable, goes out in one header, and is gone with
// the page; everything shown is set as text. A list is drawn again only when it changed, so that focus stays put.

export const consoleScript = `"use strict";
const everyMs = 3000;
const byId = (id) => document.getElementById(id);
const drawn = new Map();
let token = "";
let project = "";
let session = "";
let timer;

class SignedOut extends Error {}

async function ask(path, body) {
  const answer = await fetch(path, {
    method: "POST",
    headers: { authorization: "Bearer " + token, "content-type": "application/json" },
    body: JSON.stringify(body),
    cache: "no-store",
    credentials: "omit",
    redirect: "error",
  });
  const value = await answer.json();
  if (answer.status === 401) throw new SignedOut();
  return answer.ok ? { value } : { refused: value.error || "HTTP " + answer.status };
}

async function tool(name, params) {
  const answer = await ask("/api/tools/call", { tool: name, params });
  return answer.refused === undefined ? { value: answer.value.output } : answer;
}

function element(tag, props, children) {
  const made = Object.assign(document.createElement(tag), props);
  made.append(...(children || []));
  return made;
}

function paragraph(text) {
  return element("p", { className: "dim", textContent: text });
}

function when(seconds) {
  return new Date(seconds * 1000).toLocaleString();
}

function picker(key, text, chosen, pick) {
  const button = element("button", { type: "button", textContent: text });
  button.dataset.key = key;
  button.setAttribute("aria-pressed", String(chosen));
  button.addEventListener("click", () => { pick(); refresh(); });
  return button;
}

function table(caption, heads, rows) {
  const head = heads.map((text) => element("th", { scope: "col", textContent: text }));
  const body = rows.map((cells) => element("tr", {}, cells.map((cell, at) => {
    const made = element(at === 0 ? "th" : "td", at === 0 ? { scope: "row" } : {}, [cell]);
    made.dataset.label = heads[at];
    return made;
  })));
  const region = element("div", { className: "wide", tabIndex: 0 }, [
    element("table", {}, [
      element("caption", { textContent: caption }),
      element("thead", {}, [element("tr", {}, head)]),
      element("tbody", {}, body),
    ]),
  ]);
  region.setAttribute("role", "region");
  region.setAttribute("aria-label", caption);
  return region;
}

function draw(id, answer, build) {
  const key = JSON.stringify([answer, project, session]);
  if (drawn.get(id) === key) return;
  drawn.set(id, key);
  const place = byId(id);
  const focused = place.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
  const parts = answer.refused === undefined ? build(answer.value) : [paragraph("Not shown: " + answer.refused)];
  place.replaceChildren(...parts);
  if (focused === undefined) return;
  for (const one of place.querySelectorAll("button")) if (one.dataset.key === focused) one.focus();
}

function drawProjects(value) {
  if (value.projects.length === 0) return [paragraph("No Runner offers a project to this token now.")];
  return [table("Projects: " + value.projects.length + " of " + value.total, ["Project", "Folder", "Runner"],
    value.projects.map((one) => [
      picker(one.id, one.name || one.id, one.id === project, () => { project = one.id; session = ""; }),
      one.path,
      one.client_id,
    ]))];
}

function drawSessions(value) {
  if (value.sessions.length === 0) return [paragraph("No Session in this project.")];
  return [table("Sessions: " + value.sessions.length + " of " + value.total, ["Session", "State", "Changed"],
    value.sessions.map((one) => [
      picker(one.session_id, one.session_ref + " " + (one.title || ""), one.session_id === session, () => { session = one.session_id; }),
      one.lifecycle,
      when(one.updated_at),
    ]))];
}

function drawTasks(value) {
  if (value.tasks.length === 0) return [paragraph("No Task.")];
  return [table("Tasks: " + value.tasks.length + " of " + value.total_count, ["Task", "State", "Attempt", "Run", "Changed"],
    value.tasks.map((one) => [
      one.title,
      one.state,
      one.latest_attempt === null ? "none" : one.latest_attempt.attempt_number + ", " + one.latest_attempt.state,
      one.execution_status || "none",
      when(one.updated_at_unix_ms / 1000),
    ]))];
}

function drawRuns(value) {
  if (value.runs.length === 0) return [paragraph("No Run.")];
  return [table((value.truncated ? "Newest Runs: " : "Runs: ") + value.runs.length, ["Run", "State", "Execution", "Project", "Agent", "End"],
    value.runs.map((one) => [
      element("code", { textContent: one.run_id }),
      (one.state || one.dispatch_state) + (one.live ? "" : " (not live)"),
      one.execution_state || "unknown",
      one.project,
      one.provider_id,
      one.error_code || one.stop_reason || "",
    ]))];
}

function drawObservations(value) {
  const said = paragraph("Reports of adapters. They claim no completeness and no order of work.");
  if (value.observations.length === 0) return [said, paragraph("No report.")];
  return [said, table("Reports: " + value.observations.length, ["Tool", "Outcome", "Recorded"],
    value.observations.map((one) => [one.tool, one.status.replaceAll("_", " "), when(one.recorded_at / 1000)]))];
}

function drawBrief(value) {
  const brief = value.handoff_brief;
  const line = (name, text) => [element("dt", { textContent: name }), element("dd", { textContent: text })];
  const text = element("pre", { textContent: JSON.stringify(brief, null, 2), tabIndex: 0 });
  text.setAttribute("role", "region");
  text.setAttribute("aria-label", "The whole brief as JSON");
  return [
    element("dl", {}, [
      ...line("Progress", brief.progress.state.replaceAll("_", " ")),
      ...line("First instruction", brief.task.root_instruction.excerpt || "none"),
      ...line("Latest instruction", brief.task.latest_instruction.excerpt || "none"),
      ...line("Next", brief.next_actions.join(" ") || "nothing named"),
      ...line("Complete", brief.basis.complete ? "yes" : "no: " + brief.basis.reason_codes.join(", ")),
    ]),
    element("details", {}, [element("summary", { textContent: "The whole brief" }), text]),
  ];
}

/** The server hears of a run when somebody looks at it: the page looks at those that may still change. */
async function observe(runs) {
  const over = ["completed", "failed", "cancelled", "lost"];
  const open = runs.filter((one) => one.live && !over.includes(one.state)).slice(0, 8);
  await Promise.all(open.map(async (one) => {
    const seen = await tool("observe_coding_agent", { run_id: one.run_id });
    if (seen.value === undefined) return;
    const { state, execution_state, terminal } = seen.value;
    Object.assign(one, { state, execution_state }, terminal || {});
  }));
}

async function drawAll() {
  const [projects, tasks, runs] = await Promise.all([
    ask("/api/runtime-console/projects", { limit: 100 }),
    tool("list_agent_tasks", { limit: 50 }),
    ask("/api/runtime-console/runs", { limit: 100 }),
  ]);
  if (project === "" && projects.value !== undefined && projects.value.projects.length > 0) project = projects.value.projects[0].id;
  if (runs.value !== undefined) await observe(runs.value.runs);
  draw("projects", projects, drawProjects);
  draw("tasks", tasks, drawTasks);
  draw("runs", runs, drawRuns);
  const sessions = project === "" ? { refused: "choose a project" } : await ask("/api/runtime-console/workflow-sessions", { project, limit: 50 });
  if (session === "" && sessions.value !== undefined && sessions.value.sessions.length > 0) session = sessions.value.sessions[0].session_id;
  draw("sessions", sessions, drawSessions);
  const none = { refused: "choose a Session" };
  const [reports, brief] = session === "" ? [none, none] : await Promise.all([
    tool("list_external_observations", { project, session_id: session }),
    tool("read_session_handoff", { session_id: session, summary_only: true }),
  ]);
  draw("observations", reports, drawObservations);
  draw("brief", brief, drawBrief);
}

function say(text) {
  if (byId("message").textContent !== text) byId("message").textContent = text;
}

async function refresh() {
  clearTimeout(timer);
  const mine = token;
  if (mine === "") return;
  try {
    if (!document.hidden) await drawAll();
    if (mine !== token) return;
    say("");
    byId("facts").textContent = "As of " + new Date().toLocaleTimeString() + ", read again every " + everyMs / 1000 + " s.";
    byId("desk").hidden = false;
    byId("enter").hidden = true;
  } catch (error) {
    if (mine !== token) return;
    if (error instanceof SignedOut) return leave("The token is not accepted.");
    say("The server does not answer; what is shown is old.");
  }
  timer = setTimeout(refresh, everyMs);
}

function leave(text) {
  clearTimeout(timer);
  token = project = session = "";
  drawn.clear();
  for (const id of ["projects", "tasks", "runs", "sessions", "observations", "brief"]) byId(id).replaceChildren();
  byId("desk").hidden = true;
  byId("enter").hidden = false;
  say(text);
  byId("token").focus();
}

byId("enter").addEventListener("submit", (event) => {
  event.preventDefault();
  token = byId("token").value.trim();
  byId("token").value = "";
  refresh();
});
byId("leave").addEventListener("click", () => leave("The token is forgotten."));
document.addEventListener("visibilitychange", () => { if (!document.hidden) refresh(); });
`;
