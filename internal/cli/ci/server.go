package ci

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/about"
	"github.com/redoubt/redoubt/internal/ci"
)

// ciServer is a client of the server.
type ciServer struct {
	base       string
	deployment string // slug of the deployment
	client     *api.Client
}

// ciWait is the timeout of a request. Storing a large inventory takes long.
const ciWait = 5 * time.Minute

// newCIServer returns a client for the deployment of the token.
func newCIServer(ctx context.Context, c Command) (ciServer, error) {
	s := ciServer{base: strings.TrimSuffix(c.URL, "/")}
	u, err := url.Parse(s.base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return s, fmt.Errorf("invalid REDOUBT_URL %q: use the server's address, such as https://redoubt.example", c.URL)
	}
	s.client = &api.Client{
		BaseURL:   s.base,
		Token:     string(c.Token),
		HTTP:      &http.Client{Timeout: ciWait},
		UserAgent: "redoubt-ci/" + about.Version,
	}
	var out struct {
		Deployment struct {
			Slug string `json:"slug"`
		} `json:"deployment"`
	}
	err = s.get(ctx, "/api/agent/deployments/current", &out)
	s.deployment = out.Deployment.Slug
	if err == nil && s.deployment == "" {
		err = fmt.Errorf("%s is not a Redoubt server", s.base)
	}
	return s, err
}

// maxCIAnswer is the maximum size of a response in bytes.
const maxCIAnswer = 64 << 20

// get requests an address of the scanner API, which is not part of the Web API.
func (s ciServer) get(ctx context.Context, path string, out any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base+path, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+s.client.Token)
	req.Header.Set("User-Agent", s.client.UserAgent)
	resp, err := s.client.HTTP.Do(req)
	if err != nil {
		return fmt.Errorf("cannot reach the server: %w", err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxCIAnswer))
	switch {
	case err != nil:
		return fmt.Errorf("the response of %s is incomplete: %w", s.base, err)
	case resp.StatusCode != http.StatusOK:
		return statusError(resp.StatusCode, text)
	}
	if err := json.Unmarshal(text, out); err != nil {
		return fmt.Errorf("%s is not a Redoubt server: %w", s.base, err)
	}
	return nil
}

// statusError returns the server's error, with advice.
func statusError(status int, text []byte) error {
	var p api.Problem
	_ = json.Unmarshal(text, &p) // without a problem document the detail is empty
	p.Status = status
	if p.Detail == "" {
		p.Detail = "the server returned " + http.StatusText(status)
	}
	return withAdvice(&p)
}

// withAdvice adds advice for the user to a server's error.
func withAdvice(err error) error {
	var p *api.Problem
	if !errors.As(err, &p) {
		return err
	}
	switch p.Status {
	case http.StatusUnauthorized:
		return fmt.Errorf("invalid token: %s (set REDOUBT_TOKEN to a token of redoubt token create "+
			"--scope ci NAME)", p.Detail)
	case http.StatusForbidden:
		return fmt.Errorf("permission denied: %s (the token needs the scope ci)", p.Detail)
	case http.StatusNotFound:
		return fmt.Errorf("project not found or not visible to the token: %s", p.Detail)
	}
	return err
}

// scanOutcome is the outcome of the latest scan of a ref.
type scanOutcome struct {
	ScanID  int64              `json:"scan_id"`
	Outcome api.ImportResponse `json:"outcome"`
}

// outcome returns the scan that a run started or, if there is none, the latest applied one.
func (s ciServer) outcome(ctx context.Context, project, ref, run string) (out scanOutcome, err error) {
	q := url.Values{"project": {project}, "ref": {ref}, "run": {run}}
	return out, s.get(ctx, "/api/agent/scans/outcome?"+q.Encode(), &out)
}

// send uploads files with an idempotency key, so that the request can be retried.
func (s ciServer) send(ctx context.Context, q api.ImportQuery, files []api.File) (*api.ImportResponse, error) {
	out, err := s.client.ImportReports(ctx, s.deployment, q, files, api.WithKey("ci-"+rand.Text()))
	return out, withAdvice(err)
}

// findings returns the address of a project's findings on a ref.
func (s ciServer) findings(project, ref string) string {
	return s.base + "/orgs/" + s.deployment + "/findings?" + url.Values{"repo": {project}, "ref": {ref}}.Encode()
}

// sourceOf returns the result of one source of an upload.
func sourceOf(i api.Import) ci.Source {
	s := ci.Source{
		Name: i.Source, ScanID: i.ScanID, Outcome: i.Outcome, New: i.New + i.Returned,
		Fixed: i.Closed, Unchanged: i.Unchanged, Lockfiles: i.Changes.Lockfiles,
		Added: i.Changes.Added, Removed: i.Changes.Removed,
		Dropped: append([]string{}, i.Changes.LockfilesDropped...), Refused: []string{},
	}
	for _, refused := range i.Refused {
		s.Refused = append(s.Refused, refused.Item+": "+refused.Reason)
	}
	s.MoreRefused = max(i.RefusedCount-len(i.Refused), 0)
	if i.Note != "" {
		s.Refused = append(s.Refused, i.Note)
	}
	return s
}

// addOutcome adds the result of an upload to the result of the run.
func (b *build) addOutcome(in api.ImportResponse) {
	r := &b.result
	source := map[int64]string{}
	found := func(item api.ImportItem, by string) ci.Finding {
		page := fmt.Sprintf("%s/orgs/%s/findings/%d", b.server.base, b.server.deployment, item.FindingID)
		return ci.Finding{
			ID: item.FindingID, URL: page, Source: by, Rule: item.Rule, Path: item.Path, Line: item.Line, Change: item.Change,
			Condition: item.Condition, Mode: item.Mode, Text: item.Text,
		}
	}
	note := func(items []api.ImportItem, by string) {
		for _, item := range items {
			source[item.FindingID] = by
			if item.Muted {
				continue
			}
			switch item.Change {
			case "new", "returned":
				r.New = append(r.New, found(item, by))
			case "closed":
				r.Fixed = append(r.Fixed, found(item, by))
			}
		}
	}
	for _, f := range in.Unread {
		r.Unread = append(r.Unread, ci.UnreadFile(f))
		b.addTrouble(fmt.Errorf("%s could not be read; its stored state is unchanged: %s (exclude files in .semgrepignore)",
			f.Name, f.Reason))
	}
	for _, i := range in.Imports {
		note(i.Items, i.Source)
		note(i.Advised, "advisories")
		r.Sources = append(r.Sources, sourceOf(i))
	}
	gate := func(list []ci.Finding, items []api.ImportItem) []ci.Finding {
		for _, item := range items {
			f := found(item, source[item.FindingID])
			if f.Source == "" && len(in.Imports) == 1 {
				f.Source = in.Imports[0].Source
			}
			if f.ID == 0 || !slices.ContainsFunc(list, func(had ci.Finding) bool { return had.ID == f.ID }) {
				list = append(list, f) // inventory and scan may both report it
			}
		}
		return list
	}
	r.Blocking, r.Noted = gate(r.Blocking, in.Gate.Blocking), gate(r.Noted, in.Gate.Noted)
	for _, id := range in.Gate.BlockingScans {
		scan, _ := strconv.ParseInt(id, 10, 64) // an invalid id leads to an error page
		r.Unblock = append(r.Unblock, api.BlockingPage(b.server.base, b.server.deployment, scan))
	}
	if in.Gate.Reason != "" {
		r.Reason = strings.TrimSpace(r.Reason + " " + in.Gate.Reason)
	}
	r.Blocked = r.Blocked || in.Gate.Blocked
}
