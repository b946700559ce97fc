// Table shows rows of figures and updates them in place. On a narrow page each row becomes a block, with a title at each figure.

export class Table {
  // titles are the titles of the columns, each a text or [text, class]. The first column is the name of the row.
  constructor(root, label, titles) {
    const table = this.root = document.createElement('table');
    table.className = 'figures';
    table.setAttribute('aria-label', label);
    this.titles = titles.map((t) => [t].flat());
    const head = table.createTHead().insertRow();
    for (const [title, kind] of this.titles) {
      const cell = document.createElement('th');
      cell.scope = 'col';
      cell.className = kind ?? '';
      cell.textContent = title;
      head.append(cell);
    }
    this.body = table.createTBody();
    root.append(table);
    for (const e of table.querySelectorAll('thead, tbody, tr, th')) role(e);
  }

  // write shows rows. A row is a list of cells, each a text, [text, class] or, for a link, [text, class, address].
  write(rows) {
    while (this.body.rows.length > rows.length) this.body.deleteRow(-1);
    rows.forEach((cells, i) => {
      const row = this.body.rows[i] ?? this.add();
      cells.forEach((cell, j) => {
        const [text, kind, href] = Array.isArray(cell) ? cell : [cell, ''], e = content(row.cells[j], href);
        if (e.textContent !== text) e.textContent = text;
        if (e.className !== kind) e.className = kind;
      });
    });
  }

  add() {
    const row = this.body.insertRow();
    role(row);
    for (const [title, kind] of this.titles) {
      const cell = row.insertCell();
      cell.className = kind ?? '';
      cell.dataset.title = title;
      cell.append(document.createElement('span'));
      role(cell);
    }
    return row;
  }
}

// content returns the element in a cell: a link if there is an address, else a span.
function content(cell, href) {
  const wanted = href ? 'A' : 'SPAN';
  if (cell.firstChild.tagName !== wanted) cell.replaceChildren(document.createElement(wanted));
  if (href && cell.firstChild.getAttribute('href') !== href) cell.firstChild.setAttribute('href', href);
  return cell.firstChild;
}

// role sets the ARIA role of e. Without it, browsers drop the role when the style sheet changes the element's display.
function role(e) {
  e.setAttribute('role', { THEAD: 'rowgroup', TBODY: 'rowgroup', TR: 'row', TH: 'columnheader', TD: 'cell' }[e.tagName]);
}
