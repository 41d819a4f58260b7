// Asks once a second how the run stands, and shows it. Leaving the page leaves the run going.
"use strict";
const region = document.querySelector("[data-live]");
async function look() {
  try {
    const answer = await fetch(region.dataset.live, { credentials: "same-origin" });
    if (answer.status === 205) return void location.reload();
    if (answer.ok) {
      const text = await answer.text();
      if (text !== region.dataset.shown) {
        region.innerHTML = text;
        region.dataset.shown = text;
      }
    }
  } catch {
    region.dataset.shown = "";
  }
  setTimeout(look, 1000);
}
if (region) setTimeout(look, 1000);
