// Table shows rows of figures and updates them in place. On a narrow page each row becomes a block, with a title at each figure.

export class Table {
  // titles are the titles of the columns, each a text or [text, class]. The first column is the name of the row.
  constructor(root, label, titles) {
    const table = document.createElement('table');
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

  // write shows rows. A row is a list of cells, each a text or [text, class].
  write(rows) {
    while (this.body.rows.length > rows.length) this.body.deleteRow(-1);
    rows.forEach((cells, i) => {
      const row = this.body.rows[i] ?? this.add();
      cells.forEach((cell, j) => {
        const [text, kind] = Array.isArray(cell) ? cell : [cell, ''], span = row.cells[j].firstChild;
        if (span.textContent !== text) span.textContent = text;
        if (span.className !== kind) span.className = kind;
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

// role sets the ARIA role of e. Without it, browsers drop the role when the style sheet changes the element's display.
function role(e) {
  e.setAttribute('role', { THEAD: 'rowgroup', TBODY: 'rowgroup', TR: 'row', TH: 'columnheader', TD: 'cell' }[e.tagName]);
}
