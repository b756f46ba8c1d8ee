package api

import "strconv"

// BlockingPage returns the address of the web page with the blocking findings of a scan. The
// parameter base is the server's address without a trailing slash, and deployment is a slug.
func BlockingPage(base, deployment string, scanID int64) string {
	return base + "/orgs/" + deployment + "/scans/" + strconv.FormatInt(scanID, 10) + "/blocking"
}
