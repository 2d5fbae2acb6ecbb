// A click on the head of a column sorts its table: numbers by their value, texts by their letters.
for (const table of document.querySelectorAll("table")) {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  if (body.rows.length < 3) continue;
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const key = (row) => {
        const cell = row.cells[column];
        return cell.dataset.key === undefined ? cell.textContent : Number(cell.dataset.key);
      };
      const compare = (a, b) => {
        const [x, y] = [key(a), key(b)];
        return typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y));
      };
      const rows = [...body.rows].sort(compare);
      if (down) rows.reverse();
      body.append(...rows);
    });
  });
}
