package web

import "net/http"

// overview shows where the deployment stands.
func (v *visit) overview() error {
	return v.show(http.StatusOK, sheet{Template: "overview", Title: "Overview", Section: "overview"})
}
