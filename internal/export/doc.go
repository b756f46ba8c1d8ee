// Package export writes the findings of a selection as CSV, JSON Lines, SARIF or XLSX. It reads and
// writes findings in steps, so memory use does not depend on their number. It escapes untrusted
// text that spreadsheets could evaluate.
package export
