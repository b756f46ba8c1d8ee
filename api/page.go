package api

import "strconv"

// BlockingPage is the address of the page for people about what a scan failed
// its build on, on the server at base, which has no slash at its end. The
// deployment is its slug.
func BlockingPage(base, deployment string, scanID int64) string {
	return base + "/orgs/" + deployment + "/scans/" + strconv.FormatInt(scanID, 10) + "/blocking"
}
