package ingest

import "strings"

// shelfHistory is a sequence of events and the resulting rows: see shelf.event.
type shelfHistory struct {
	what   string
	events string
	want   string
}

var shelfHistories = []shelfHistory{
	{"a record that is there before the lockfile", `
		osv CVE-1 lodash 1-3
		full main a.lock lodash@2 axios@1`, `
		1 advisory main a.lock lodash CVE-1@2 open L1`},
	{"a record that comes after the lockfile: no scan", `
		full main a.lock lodash@2
		osv CVE-1 lodash 1-3`, `
		1 advisory main a.lock lodash CVE-1@2 open L1`},
	{"an unaffected version", `
		osv CVE-1 lodash 1-3
		full main a.lock lodash@4`, ``},
	{"another vulnerable version is the same finding", `
		osv CVE-1 lodash 1-3
		full main a.lock lodash@1
		triage 1 ignored
		full main a.lock lodash@3`, `
		1 advisory main a.lock lodash CVE-1@3 ignored L1`},
	{"the upgrade fixes it", `
		osv CVE-1 lodash 1-3
		full main a.lock lodash@1
		full main a.lock lodash@4`, `
		1 advisory main a.lock lodash CVE-1@1 fixed L1`},
	{"the downgrade reopens it; the work in progress is reset", `
		osv CVE-1 lodash 1-3
		full main a.lock lodash@1
		triage 1 fixing
		full main a.lock lodash@4
		full main a.lock lodash@2`, `
		1 advisory main a.lock lodash CVE-1@2 open L1`},
	{"ignored stays ignored when it comes back", `
		osv CVE-1 lodash 1-3
		full main a.lock lodash@1
		triage 1 ignored
		full main a.lock axios@1
		full main a.lock lodash@1`, `
		1 advisory main a.lock lodash CVE-1@1 ignored L1`},
	{"a withdrawn record removes, it fixes nothing", `
		osv CVE-1 lodash 1-3
		full main a.lock lodash@1
		withdraw CVE-1`, `
		1 advisory main a.lock lodash CVE-1@1 removed L1`},
	{"a record that is no longer withdrawn brings it back", `
		osv CVE-1 lodash 1-3
		full main a.lock lodash@1
		triage 1 ignored
		withdraw CVE-1
		osv CVE-1 lodash 1-3`, `
		1 advisory main a.lock lodash CVE-1@1 ignored L1`},
	{"a record that is corrected to leave the version out removes", `
		osv CVE-1 lodash 1-3
		full main a.lock lodash@3
		osv CVE-1 lodash 1-2`, `
		1 advisory main a.lock lodash CVE-1@3 removed L1`},
	{"a record that is extended to the version opens", `
		osv CVE-1 lodash 1-2
		full main a.lock lodash@3
		osv CVE-1 lodash 1-3`, `
		1 advisory main a.lock lodash CVE-1@3 open L1`},
	{"of several versions the lowest affected one is shown, in one finding", `
		osv CVE-1 lodash 2-5
		full main a.lock lodash@1 lodash@4 lodash@3 lodash@9`, `
		1 advisory main a.lock lodash CVE-1@3 open L1`},
	{"one of several versions is upgraded: still open, another shown", `
		osv CVE-1 lodash 2-5
		full main a.lock lodash@3 lodash@4
		full main a.lock lodash@4 lodash@9`, `
		1 advisory main a.lock lodash CVE-1@4 open L1`},
	{"two lockfiles are two findings", `
		osv CVE-1 lodash 1-3
		full main a.lock lodash@1 | b.lock lodash@1
		full main a.lock lodash@1 | b.lock lodash@9`, `
		1 advisory main a.lock lodash CVE-1@1 open L1
		2 advisory main b.lock lodash CVE-1@1 fixed L2`},
	{"what a scanner and the advisories say of a lockfile that moves and comes back", `
		scan dev a/p/x.lock/lodash/CVE-1 a/p/x.lock/axios/CVE-1
		full main
		osv CVE-1 axios 1-1
		full main a/p/x.lock axios@1 | b/p/x.lock axios@1
		full dev b/p/x.lock axios@1
		scan dev
		full dev a/p/x.lock axios@1`, `
		1 scanner dev a/p/x.lock axios CVE-1 fixed L1
		2 scanner dev a/p/x.lock lodash CVE-1 fixed L2
		3 advisory main a/p/x.lock axios CVE-1@1 open L1
		4 advisory main b/p/x.lock axios CVE-1@1 open L4
		5 advisory dev a/p/x.lock axios CVE-1@1 open L4`},
	{"the scanner calls it by another name, which is known of another ref: the same finding", `
		scan dev a.lock/axios/GHSA-2
		full main a.lock axios@1
		scan main a.lock/axios/CVE-1
		osv CVE-1=GHSA-2 axios 1-1
		triage 2 ignored
		full dev a.lock axios@1
		scan main a.lock/axios/GHSA-2`, `
		1 scanner dev a.lock axios GHSA-2 ignored L1
		2 scanner main a.lock axios GHSA-2 ignored L1`},
	{"a lockfile moves to where a scanner saw another finding: what main has side by side stays two", `
		osv GHSA-2 axios 1-1
		scan main a/p/x.lock/axios/GHSA-2 b/p/x.lock/axios/GHSA-2
		scan dev b/p/x.lock/axios/GHSA-2
		scan dev a/p/x.lock/axios/GHSA-2 b/p/x.lock/axios/CVE-1
		full dev b/p/x.lock axios@1
		scan dev a/p/x.lock/axios/CVE-1
		triage 1 ignored
		full dev a/p/x.lock axios@1`, `
		1 scanner main a/p/x.lock axios GHSA-2 ignored L1
		2 scanner main b/p/x.lock axios GHSA-2 open L2
		3 scanner dev b/p/x.lock axios GHSA-2 fixed L2
		4 scanner dev a/p/x.lock axios GHSA-2 fixed L1
		5 scanner dev b/p/x.lock axios CVE-1 fixed L3
		6 advisory dev a/p/x.lock axios GHSA-2@1 open L2
		7 scanner dev a/p/x.lock axios CVE-1 open L4`},
	{"groups prove one where a copy stands beside: the copy keeps what is decided on it", `
		full main b/p/x.lock axios@1
		full dev b/p/x.lock axios@1
		osv CVE-1 axios 1-1
		full main a/p/x.lock axios@1
		full main a/p/x.lock axios@1 | b/p/x.lock axios@1
		osv GHSA-2 axios 1-1
		triage 3 ignored
		osv CVE-1=GHSA-2 axios 1-1
		osv CVE-1=GHSA-2 axios 1-2`, `
		1 advisory dev b/p/x.lock axios CVE-1@1 open L1
		2 advisory main a/p/x.lock axios CVE-1@1 open L1
		3 advisory main b/p/x.lock axios CVE-1@1 ignored L2
		4 advisory dev b/p/x.lock axios GHSA-2@1 removed L2
		5 advisory main a/p/x.lock axios GHSA-2@1 removed L1
		6 advisory main b/p/x.lock axios GHSA-2@1 removed L2`},
	{"what a scanner's finding takes the place of keeps nothing apart", `
		diff dev a/p/x.lock axios@1
		osv CVE-1 axios 1-1
		scan main a/p/x.lock/axios/CVE-1
		full dev b/p/x.lock axios@1
		part dev a/p/x.lock/axios/CVE-1
		full main a/p/x.lock axios@1
		full main
		delete dev
		full dev
		full dev a/p/x.lock axios@1 | b/p/x.lock axios@1
		scan dev b/p/x.lock/axios/CVE-1`, `
		1 advisory dev b/p/x.lock axios CVE-1@1 removed L4
		2 scanner main a/p/x.lock axios CVE-1 open L1
		3 scanner dev a/p/x.lock axios CVE-1 removed L1
		4 advisory dev a/p/x.lock axios CVE-1@1 open L1
		5 scanner dev b/p/x.lock axios CVE-1 open L4`},
	{"what leaves with its lockfile keeps nothing apart", `
		full dev a/p/x.lock axios@1
		scan main a/p/x.lock/axios/CVE-1
		osv CVE-1 axios 1-1
		full main b/p/x.lock axios@1
		full dev b/p/x.lock axios@1
		full main a/p/x.lock axios@1`, `
		1 scanner main a/p/x.lock axios CVE-1 open L1
		2 advisory dev b/p/x.lock axios CVE-1@1 open L1
		3 advisory main b/p/x.lock axios CVE-1@1 fixed L1`},
	{"several refs are one finding; triage shows on all, one is fixed alone", `
		osv CVE-1 lodash 1-3
		full main a.lock lodash@1
		full dev a.lock lodash@1
		triage 2 ignored
		full dev a.lock lodash@9`, `
		1 advisory main a.lock lodash CVE-1@1 ignored L1
		2 advisory dev a.lock lodash CVE-1@1 fixed L1`},
	{"a new ref inherits what was decided", `
		osv CVE-1 lodash 1-3
		full main a.lock lodash@1
		triage 1 ignored
		full dev a.lock lodash@2`, `
		1 advisory main a.lock lodash CVE-1@1 ignored L1
		2 advisory dev a.lock lodash CVE-1@2 ignored L1`},
	{"two records without a common name are two findings", `
		osv CVE-1 lodash 1-3
		osv GHSA-2 lodash 1-3
		full main a.lock lodash@1`, `
		1 advisory main a.lock lodash CVE-1@1 open L1
		2 advisory main a.lock lodash GHSA-2@1 open L2`},
	{"records that alias each other are one, shown by the CVE", `
		osv GHSA-1=CVE-1 lodash 1-3
		osv OSV-1=CVE-1 lodash 1-2
		full main a.lock lodash@1`, `
		1 advisory main a.lock lodash CVE-1@1 open L1`},
	{"groups that prove one keep the oldest finding and its triage", `
		osv GHSA-1 lodash 1-3
		osv OSV-1 lodash 1-3
		full main a.lock lodash@1
		triage 2 ignored
		osv OSV-1=GHSA-1 lodash 1-3`, `
		1 advisory main a.lock lodash GHSA-1@1 ignored L1
		2 advisory main a.lock lodash OSV-1@1 removed L1`},
	{"the younger group's finding stays where it is the only one", `
		osv GHSA-1 axios 1-3
		osv OSV-1 lodash 1-3
		full main a.lock lodash@1
		triage 1 reviewing
		osv GHSA-1=OSV-1 axios 1-3`, `
		1 advisory main a.lock lodash GHSA-1@1 reviewing L1`},
	{"the younger group's finding is the older one: it stays", `
		osv GHSA-1 axios 1-3
		osv OSV-1 lodash 1-3
		full main a.lock lodash@1
		osv GHSA-1 lodash 1-3
		triage 1 ignored
		osv GHSA-1=OSV-1 lodash 1-3`, `
		1 advisory main a.lock lodash GHSA-1@1 ignored L1
		2 advisory main a.lock lodash GHSA-1@1 removed L1`},
	{"a record of the group withdrawn leaves the finding to the others", `
		osv GHSA-1=CVE-1 lodash 1-3
		osv OSV-1=CVE-1 lodash 1-2
		full main a.lock lodash@1
		withdraw GHSA-1`, `
		1 advisory main a.lock lodash CVE-1@1 open L1`},
	{"a group that falls apart: the oldest record keeps the finding", `
		osv GHSA-1 lodash 1-3
		osv OSV-1=GHSA-1 lodash 1-3
		full main a.lock lodash@1
		osv OSV-1 lodash 1-3`, `
		1 advisory main a.lock lodash GHSA-1@1 open L1
		2 advisory main a.lock lodash OSV-1@1 open L2`},
	{"the scanner comes after the advisory: its row takes over, triage stays", `
		osv CVE-1 lodash 1-3
		full main a.lock lodash@1
		triage 1 ignored
		scan main a.lock/lodash/CVE-1`, `
		1 advisory main a.lock lodash CVE-1@1 removed L1
		2 scanner main a.lock lodash CVE-1 ignored L1`},
	{"the scanner comes before the advisory: nothing new", `
		full main a.lock lodash@1
		scan main a.lock/lodash/CVE-1
		triage 1 reviewing
		osv CVE-1 lodash 1-3`, `
		1 scanner main a.lock lodash CVE-1 reviewing L1`},
	{"the scanner speaks by an alias", `
		osv GHSA-1=CVE-1 lodash 1-3
		full main a.lock lodash@1
		scan main a.lock/lodash/GHSA-1`, `
		1 advisory main a.lock lodash CVE-1@1 removed L1
		2 scanner main a.lock lodash GHSA-1 open L1`},
	{"the scanner's goes, the advisory's comes back; what people are at goes on", `
		osv CVE-1 lodash 1-3
		full main a.lock lodash@1
		scan main a.lock/lodash/CVE-1
		triage 1 fixing
		scan main`, `
		1 advisory main a.lock lodash CVE-1@1 fixing L1
		2 scanner main a.lock lodash CVE-1 fixed L1`},
	{"the scanner's goes, the advisory's is new; triage is the scanner's", `
		full main a.lock lodash@1
		scan main a.lock/lodash/CVE-1
		triage 1 ignored
		osv CVE-1 lodash 1-3
		scan main`, `
		1 scanner main a.lock lodash CVE-1 fixed L1
		2 advisory main a.lock lodash CVE-1@1 ignored L1`},
	{"the upgrade first, then the scan: nothing is left open", `
		osv CVE-1 lodash 1-3
		full main a.lock lodash@1
		scan main a.lock/lodash/CVE-1
		full main a.lock lodash@9
		scan main`, `
		1 advisory main a.lock lodash CVE-1@1 removed L1
		2 scanner main a.lock lodash CVE-1 fixed L1`},
	{"a scan without supply chain loses nothing", `
		osv CVE-1 lodash 1-3
		full main a.lock lodash@1
		scan main`, `
		1 advisory main a.lock lodash CVE-1@1 open L1`},
	{"another package or lockfile of the scanner is no twin", `
		osv CVE-1 lodash 1-3
		full main a.lock lodash@1 | b.lock axios@1
		scan main a.lock/axios/CVE-1 b.lock/lodash/CVE-1 a.lock/lodash/CVE-2`, `
		1 advisory main a.lock lodash CVE-1@1 open L1
		2 scanner main a.lock axios CVE-1 open L2
		3 scanner main a.lock lodash CVE-2 open L3
		4 scanner main b.lock lodash CVE-1 open L4`},
	{"withdrawn while the scanner's lives: the scanner's stays", `
		osv CVE-1 lodash 1-3
		full main a.lock lodash@1
		scan main a.lock/lodash/CVE-1
		withdraw CVE-1`, `
		1 advisory main a.lock lodash CVE-1@1 removed L1
		2 scanner main a.lock lodash CVE-1 open L1`},
	{"the lockfile is gone by a full statement: fixed", `
		osv CVE-1 lodash 1-3
		full main a.lock lodash@1 | b.lock axios@1
		full main b.lock axios@1`, `
		1 advisory main a.lock lodash CVE-1@1 fixed L1`},
	{"the lockfile moved: the same finding", `
		osv CVE-1 lodash 1-3
		full main a/p/x.lock lodash@1
		triage 1 ignored
		full main web/a/p/x.lock lodash@1`, `
		1 advisory main web/a/p/x.lock lodash CVE-1@1 ignored L1`},
	{"a diff scan of a lockfile says nothing of the others", `
		osv CVE-1 lodash 1-3
		full pr a.lock lodash@1 | b.lock lodash@1
		diff pr b.lock lodash@9`, `
		1 advisory pr a.lock lodash CVE-1@1 open L1
		2 advisory pr b.lock lodash CVE-1@1 fixed L2`},
	{"a diff report of the scanner closes nothing", `
		osv CVE-1 lodash 1-3
		full pr a.lock lodash@1 | b.lock lodash@1
		scan pr a.lock/lodash/CVE-1
		part pr b.lock/lodash/CVE-1`, `
		1 advisory pr a.lock lodash CVE-1@1 removed L1
		2 advisory pr b.lock lodash CVE-1@1 removed L2
		3 scanner pr a.lock lodash CVE-1 open L1
		4 scanner pr b.lock lodash CVE-1 open L2`},
	{"what stands side by side stays two, whatever one of them became part of in the same step", `
		full dev b/p/x.lock axios@1
		osv CVE-1 axios 1-3
		scan main a/p/x.lock/axios/GHSA-2 a/p/x.lock/axios/OSV-1
		scan dev a/p/x.lock/axios/GHSA-2
		osv GHSA-2=CVE-1 axios 1-3
		full dev a/p/x.lock axios@1 | b/p/x.lock axios@1
		full dev b/p/x.lock axios@1
		scan dev a/p/x.lock/axios/OSV-1
		osv GHSA-2 axios 1-3
		full main
		full dev a/p/x.lock axios@1`, `
		1 advisory dev a/p/x.lock axios CVE-1@1 open L1
		2 scanner main a/p/x.lock axios GHSA-2 open L1
		3 scanner main a/p/x.lock axios OSV-1 open L3
		4 scanner dev a/p/x.lock axios GHSA-2 fixed L1
		5 scanner dev a/p/x.lock axios OSV-1 open L3
		6 advisory dev a/p/x.lock axios GHSA-2@1 open L4`},
	{"a deleted ref that is scanned again returns as it was decided", `
		osv CVE-1 lodash 1-3
		full dev a.lock lodash@1
		triage 1 ignored
		delete dev
		full dev a.lock lodash@1`, `
		1 advisory dev a.lock lodash CVE-1@1 ignored L1`},
}

// trimmed removes the indentation of lines.
func trimmed(text string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.TrimSpace(text)) {
		b.WriteString(strings.TrimSpace(line) + "\n")
	}
	return b.String()
}
