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

// ciServer is the server that a run speaks to.
type ciServer struct {
	base       string
	deployment string // its slug
	client     *api.Client
}

// ciWait bounds one call, in which a large inventory may be stored.
const ciWait = 5 * time.Minute

// newCIServer asks the server which deployment the token is of.
func newCIServer(ctx context.Context, c Command) (ciServer, error) {
	s := ciServer{base: strings.TrimSuffix(c.URL, "/")}
	u, err := url.Parse(s.base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return s, fmt.Errorf("REDOUBT_URL is %q: expected the server's address, as https://redoubt.example", c.URL)
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

// maxCIAnswer bounds what is read of an answer, in bytes.
const maxCIAnswer = 64 << 20

// get asks what scanners ask, which is no part of the Web API.
func (s ciServer) get(ctx context.Context, path string, out any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base+path, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+s.client.Token)
	req.Header.Set("User-Agent", s.client.UserAgent)
	resp, err := s.client.HTTP.Do(req)
	if err != nil {
		return fmt.Errorf("the server cannot be reached: %w", err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxCIAnswer))
	switch {
	case err != nil:
		return fmt.Errorf("the response of %s was cut off: %w", s.base, err)
	case resp.StatusCode != http.StatusOK:
		return statusError(resp.StatusCode, text)
	}
	if err := json.Unmarshal(text, out); err != nil {
		return fmt.Errorf("%s is not a Redoubt server: %w", s.base, err)
	}
	return nil
}

// statusError says why the server refused, and what to do.
func statusError(status int, text []byte) error {
	var p api.Problem
	_ = json.Unmarshal(text, &p) // what is no problem document has no detail
	p.Status = status
	if p.Detail == "" {
		p.Detail = "the server answered " + http.StatusText(status)
	}
	return withAdvice(&p)
}

// withAdvice adds to a refusal what a person can do about it.
func withAdvice(err error) error {
	var p *api.Problem
	if !errors.As(err, &p) {
		return err
	}
	switch p.Status {
	case http.StatusUnauthorized:
		return fmt.Errorf("the token is not valid here: %s (REDOUBT_TOKEN: make one with redoubt token create "+
			"--scope ci NAME)", p.Detail)
	case http.StatusForbidden:
		return fmt.Errorf("the token may not do this: %s (it needs the scope ci)", p.Detail)
	case http.StatusNotFound:
		return fmt.Errorf("the token may not see this project: %s", p.Detail)
	}
	return err
}

// scanOutcome is what the latest scan of a ref came to.
type scanOutcome struct {
	ScanID  int64              `json:"scan_id"`
	Outcome api.ImportResponse `json:"outcome"`
}

// outcome asks for the scan that a run began, else for the latest that was applied.
func (s ciServer) outcome(ctx context.Context, project, ref, run string) (out scanOutcome, err error) {
	q := url.Values{"project": {project}, "ref": {ref}, "run": {run}}
	return out, s.get(ctx, "/api/agent/scans/outcome?"+q.Encode(), &out)
}

// send hands files in under a key of its own, so that it may be tried again.
func (s ciServer) send(ctx context.Context, q api.ImportQuery, files []api.File) (*api.ImportResponse, error) {
	out, err := s.client.ImportReports(ctx, s.deployment, q, files, api.WithKey("ci-"+rand.Text()))
	return out, withAdvice(err)
}

// findings is the page of a project's findings on a ref.
func (s ciServer) findings(project, ref string) string {
	return s.base + "/orgs/" + s.deployment + "/findings?" + url.Values{"repo": {project}, "ref": {ref}}.Encode()
}

// sourceOf is what one report or lockfile of an upload came to.
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

// addOutcome adds what an upload did to what the run came to.
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
		b.addTrouble(fmt.Errorf("%s could not be read, and what was known of it stays: %s (.semgrepignore leaves files out)",
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
				list = append(list, f) // the inventory and the scan may both tell of it
			}
		}
		return list
	}
	r.Blocking, r.Noted = gate(r.Blocking, in.Gate.Blocking), gate(r.Noted, in.Gate.Noted)
	for _, id := range in.Gate.BlockingScans {
		scan, _ := strconv.ParseInt(id, 10, 64) // what is no number leads to a page that says so
		r.Unblock = append(r.Unblock, api.BlockingPage(b.server.base, b.server.deployment, scan))
	}
	if in.Gate.Reason != "" {
		r.Reason = strings.TrimSpace(r.Reason + " " + in.Gate.Reason)
	}
	r.Blocked = r.Blocked || in.Gate.Blocked
}
