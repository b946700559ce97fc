// A guest in AssemblyScript: it publishes messages whose field "value" is above 30 on high/TAG.

@external("ferry", "path") declare function path(text: usize, size: u32, kind: u32): i32;
@external("ferry", "lookup") declare function lookup(path: i32, value: usize, to: usize, size: u32): i32;
@external("ferry", "tag") declare function tag(to: usize, size: u32): u32;
@external("ferry", "forward") declare function forward(tag: usize, size: u32): i32;

const value = memory.data(16); // a field as the host writes it
const to = memory.data(5 + 1024); // "high/" and the longest tag
memory.copy(to, changetype<usize>(String.UTF8.encode("high/")), 5);
const valuePath = path(changetype<usize>(String.UTF8.encode("value")), 5, 0);

export function ferry_handle(size: u32, kind: u32): i32 {
  let number: f64;
  switch (lookup(valuePath, value, 0, 0)) {
    case 4: number = <f64>load<i64>(value); break;
    case 5: number = load<f64>(value); break;
    default: return 0;
  }
  if (number <= 30) return 0;
  return forward(to, 5 + tag(to + 5, 1024));
}
