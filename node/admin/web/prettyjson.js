// prettyJSON returns JSON text with a line for each value. It keeps the text of numbers, which JSON.parse would round.
export function prettyJSON(text) {
  let out = '', depth = 0;
  const line = () => '\n' + '  '.repeat(depth);
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (c === '"') {
      const end = endOfString(text, i);
      out += text.slice(i, end);
      i = end - 1;
    } else if ((c === '{' || c === '[') && (text[i + 1] === '}' || text[i + 1] === ']')) {
      out += c + text[++i];
    } else if (c === '{' || c === '[') {
      depth++;
      out += c + line();
    } else if (c === '}' || c === ']') {
      depth--;
      out += line() + c;
    } else if (c === ',') {
      out += c + line();
    } else if (c === ':') {
      out += ': ';
    } else if (c.trim()) {
      out += c;
    }
  }
  return out;
}

// endOfString returns the index behind the string that begins at i.
function endOfString(text, i) {
  for (i++; i < text.length && text[i] !== '"'; i++) if (text[i] === '\\') i++;
  return i + 1;
}
