package api

import "strconv"

// BlockingPage returns the address of the web page that lists the findings for which a scan failed
// its build. base is the server's address without a trailing slash, deployment a slug.
func BlockingPage(base, deployment string, scanID int64) string {
	return base + "/orgs/" + deployment + "/scans/" + strconv.FormatInt(scanID, 10) + "/blocking"
}
