'use strict';

function showNote() {
  const note = new URLSearchParams(location.search).get('note');
  document.getElementById('note').innerHTML = note;
}

function receive(event) {
  document.getElementById('total').textContent = event.data.total;
}

window.addEventListener('message', receive);
window.addEventListener('load', showNote);
