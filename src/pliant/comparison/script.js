// Adds to a page that is complete without it: sorting, copying, saving.
"use strict";
(() => {
  const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });
  const status = document.createElement("p");
  status.className = "unseen";
  status.setAttribute("role", "status");
  document.body.append(status);

  const valueOf = (row, column, numeric) => {
    const raw = row.cells[column].dataset.value;
    if (raw === undefined) return null;
    return numeric ? Number(raw) : raw;
  };

  const compared = (a, b, numeric, side) => {
    if (a === null || b === null) return (a === null) - (b === null);
    return side * (numeric ? a - b : collator.compare(a, b));
  };

  const next = (head) => {
    const now = head.getAttribute("aria-sort");
    if (!now) return head.dataset.first;
    return now === "ascending" ? "descending" : "ascending";
  };

  const sort = (table, head) => {
    const order = next(head);
    const numeric = head.dataset.sort === "number";
    const side = order === "ascending" ? 1 : -1;
    const body = table.tBodies[0];
    const keyed = [...body.rows].map((row) => [valueOf(row, head.cellIndex, numeric), row]);
    keyed.sort(([a], [b]) => compared(a, b, numeric, side));
    body.append(...keyed.map(([, row]) => row));
    for (const other of table.querySelectorAll("th[aria-sort]")) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", order);
    status.textContent = `Sorted by ${head.querySelector(".title").textContent}, ${order}`;
  };

  for (const table of document.querySelectorAll("table.sortable")) {
    for (const head of table.tHead.querySelectorAll("th[data-sort]")) {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      button.addEventListener("click", () => sort(table, head));
      head.append(button);
    }
  }

  const addButton = (after, text, act) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "action";
    button.textContent = text;
    button.addEventListener("click", () => act(button));
    after.after(button);
  };

  const copy = (element, button) => {
    getSelection().selectAllChildren(element);
    const done = () => { button.textContent = "Copied"; };
    const failed = () => { button.textContent = "Selected: copy it with your keyboard"; };
    if (!navigator.clipboard) failed();
    else navigator.clipboard.writeText(element.textContent).then(done, failed);
  };

  const save = (block) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([block.textContent], { type: "application/json" }));
    link.download = "scores.json";
    link.click();
    URL.revokeObjectURL(link.href);
  };

  for (const element of document.querySelectorAll("pre.command")) {
    addButton(element, "Copy the command", (button) => copy(element, button));
  }
  for (const block of document.querySelectorAll("script.scores")) {
    addButton(block, "Save the scores of all folds (JSON)", () => save(block));
  }
})();
