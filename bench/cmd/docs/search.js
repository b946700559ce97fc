// The search finds the sections in which each word begins a word. Titles count more than text.
const input = document.querySelector("input"), results = document.querySelector("#results"), main = document.querySelector("main");
const home = document.documentElement.dataset.top;

input.addEventListener("focus", () => {
  const script = document.createElement("script"); // a page that was opened from a file may not read other files, but scripts
  script.src = home + "index.js";
  script.onload = show;
  document.head.append(script);
}, { once: true });
input.addEventListener("input", show);

function score(section, words) {
  let sum = 0;
  for (const word of words) {
    const hits = 20 * word.test(section.Title) + 10 * word.test(section.Page) + word.test(section.Text);
    if (hits === 0) return 0;
    sum += hits;
  }
  return sum;
}

function show() {
  const words = (input.value.match(/[\p{L}\p{N}_]+/gu) ?? []).map((word) => new RegExp("(?<![\\p{L}\\p{N}])" + word, "iu"));
  results.hidden = words.length === 0 || typeof index === "undefined";
  main.hidden = !results.hidden;
  if (results.hidden) return;
  const found = index.map((section) => [score(section, words), section]).filter(([n]) => n > 0).sort((a, b) => b[0] - a[0]);
  results.replaceChildren(...found.slice(0, 30).map(([, section]) => {
    const item = document.createElement("li"), link = document.createElement("a"), extract = document.createElement("p");
    link.href = home + section.URL;
    link.textContent = section.Page + (section.Title === section.Page ? "" : ": " + section.Title);
    link.onclick = () => { input.value = ""; show(); };
    const at = Math.max(0, section.Text.search(words[0]) - 60);
    extract.textContent = section.Text.slice(at, at + 200);
    item.append(link, extract);
    return item;
  }));
  if (found.length === 0) results.textContent = "Nothing found.";
}
