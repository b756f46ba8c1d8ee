package conformance

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/api"
)

// testSecrets checks each filter of the list of secrets, and its pages.
func testSecrets(t *testing.T, w *world) {
	rows := all(t, w.api().Secrets(t.Context(), w.deployment.Slug, api.SecretsQuery{}))
	since := rows[len(rows)/2]
	relevant := map[string]string{}
	for _, f := range w.secrets {
		relevant[fmt.Sprint(f.ID)] = seconds(f.RelevantSince.UnixMicro())
	}
	at := w.secrets[slices.IndexFunc(w.secrets, func(f secretRow) bool { return fmt.Sprint(f.ID) == since.ID })].RelevantSince
	cases := map[string]struct {
		query   url.Values
		matches func(api.Secret) bool
	}{
		"repo": {url.Values{"repo": {"ACME/payments", "zeta/last"}}, func(s api.Secret) bool {
			return s.Repository.Name == "acme/payments" || s.Repository.Name == "zeta/last"
		}},
		"no repo":  {url.Values{"repo": {"acme/none"}}, func(api.Secret) bool { return false }},
		"open":     {url.Values{"status": {"FINDING_STATUS_OPEN"}}, func(s api.Secret) bool { return s.Status == "FINDING_STATUS_OPEN" }},
		"ignored":  {url.Values{"status": {"FINDING_STATUS_IGNORED"}}, func(s api.Secret) bool { return s.Status == "FINDING_STATUS_IGNORED" }},
		"fixed":    {url.Values{"status": {"FINDING_STATUS_FIXED"}}, func(s api.Secret) bool { return s.Status == "FINDING_STATUS_FIXED" }},
		"severity": {url.Values{"severity": {"SEVERITY_LOW,SEVERITY_CRITICAL"}}, func(s api.Secret) bool { return s.Severity == "SEVERITY_LOW" || s.Severity == "SEVERITY_CRITICAL" }},
		"valid":    {url.Values{"validationState": {"VALIDATION_STATE_CONFIRMED_VALID"}}, func(s api.Secret) bool { return s.ValidationState == "VALIDATION_STATE_CONFIRMED_VALID" }},
		"unvalidated": {url.Values{"validationState": {"VALIDATION_STATE_NO_VALIDATOR", "VALIDATION_STATE_VALIDATION_ERROR"}}, func(s api.Secret) bool {
			return s.ValidationState == "VALIDATION_STATE_NO_VALIDATOR" || s.ValidationState == "VALIDATION_STATE_VALIDATION_ERROR"
		}},
		"since": {url.Values{"since": {at.UTC().Format("2006-01-02T15:04:05.000000Z")}}, func(s api.Secret) bool { return relevant[s.ID] >= seconds(at.UnixMicro()) }},
	}
	for name, c := range cases {
		want := filterSlice(rows, c.matches)
		c.query.Set("limit", "3000")
		got := get[api.ListSecretsResponse](t, w.site, "secrets", c.query)
		if diff := cmp.Diff(want, got.Findings); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if len(want) == len(rows) || len(want) == 0 && name != "no repo" {
			t.Errorf("%s selects %d of %d, which proves nothing", name, len(want), len(rows))
		}
	}
	if diff := cmp.Diff(rows, all(t, w.api().Secrets(t.Context(), w.deployment.Slug, api.SecretsQuery{Limit: 7}))); diff != "" {
		t.Errorf("by 7 (-want +got):\n%s", diff)
	}
}

func testSecretRefusals(t *testing.T, w *world) {
	cursor := get[api.ListSecretsResponse](t, w.site, "secrets?limit=1").Cursor
	for query, bad := range map[string]string{
		"limit=3001": "query.limit", "limit=-1": "query.limit", "since=yesterday": "query.since", "status=open": "query.status[0]",
		"severity=low": "query.severity[0]", "validationState=valid": "query.validationState[0]", "cursor=x": "query.cursor",
		"repo=acme/payments&cursor=" + cursor: "query.cursor",
	} {
		t.Run(query, func(t *testing.T) { invalid(t, w.send(t, request{method: "GET", path: "secrets?" + query}), bad) })
	}
}

// testSecretShape compares the list with the operation on one finding.
func testSecretShape(t *testing.T, w *world) {
	listed := all(t, w.api().Secrets(t.Context(), w.deployment.Slug, api.SecretsQuery{}))
	for _, s := range listed[:40] {
		f := w.finding(t, integer(s.ID))
		if s.RuleHashID != f.RuleName || s.Type != deref(f.SecretType) || s.Severity != "SEVERITY_"+strings.ToUpper(f.Severity) ||
			s.ValidationState != "VALIDATION_STATE_"+strings.ToUpper(f.ValidationState) || s.Mode != "MODE_"+strings.ToUpper(w.mode(f.RuleName)) ||
			s.FindingPath != fmt.Sprintf("%s:%d", f.Location.FilePath, f.Location.Line) || s.Ref != f.Ref || (s.HistoricalInfo != nil) != *f.Historical ||
			s.Repository.Visibility != "REPOSITORY_VISIBILITY_"+strings.ToUpper(w.project(f.Repository.Name).Visibility) {
			t.Errorf("listed is %+v, alone it is %+v", s, f)
		}
	}
}
