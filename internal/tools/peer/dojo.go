package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// dojo is a DefectDojo that runs already. Its version 3.2.0 is what this was written for.
type dojo struct {
	base  *url.URL
	http  *http.Client
	token string
	tests map[string]int // of projects: what it calls the place that reports come into
	pause time.Duration  // between two looks at its queue
}

const (
	scanType = "Semgrep JSON Report"
	// settledLooks is how often in a row the queue must be empty: a task that runs is
	// not in it, and puts further ones there.
	settledLooks = 4
)

// signIn gets a token, and a session for what only a form does. It refuses a server
// that does not find duplicates or has nobody who does so: Redoubt always does.
func signIn(ctx context.Context, base, user, password string) (*dojo, error) {
	address, err := url.Parse(strings.TrimSuffix(base, "/"))
	if err != nil {
		return nil, err
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, err
	}
	d := &dojo{base: address, http: &http.Client{Jar: jar}, tests: map[string]int{}, pause: 500 * time.Millisecond}
	who := url.Values{"username": {user}, "password": {password}}
	var answer struct {
		Token string `json:"token"`
	}
	if err := d.ask(ctx, http.MethodPost, "/api/v2/api-token-auth/", strings.NewReader(who.Encode()), formType, &answer); err != nil {
		return nil, err
	}
	d.token = answer.Token
	if _, err := d.send(ctx, http.MethodGet, "/login", nil, ""); err != nil { // sets the cookie that forms need
		return nil, err
	}
	if err := d.submit(ctx, "/login", who); err != nil {
		return nil, err
	}
	return d, d.checkSettings(ctx)
}

func (d *dojo) checkSettings(ctx context.Context) error {
	var settings struct {
		Results []struct {
			Deduplicate bool `json:"enable_deduplication"`
		} `json:"results"`
	}
	if err := d.get(ctx, "/api/v2/system_settings/", &settings); err != nil {
		return err
	}
	if len(settings.Results) != 1 || !settings.Results[0].Deduplicate {
		return errors.New("it does not deduplicate findings: switch that on in its system settings, as Redoubt always does")
	}
	status, err := d.status(ctx)
	if err == nil && !status.Worker {
		err = errors.New("its Celery worker does not answer: start it, as what imports leave for later would never be done")
	}
	return err
}

const formType = "application/x-www-form-urlencoded"

// send makes a request and reads its answer, which must be a success.
func (d *dojo) send(ctx context.Context, method, target string, body io.Reader, media string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, d.base.String()+target, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Referer", req.URL.String()) // its protection of forms asks for it
	if media != "" {
		req.Header.Set("Content-Type", media)
	}
	if strings.HasPrefix(target, "/api/") && d.token != "" {
		req.Header.Set("Authorization", "Token "+d.token)
	}
	resp, err := d.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode/100 != 2 {
		return nil, fmt.Errorf("%s %s: %s: %.500s", method, target, resp.Status, text)
	}
	return text, nil
}

// ask makes a request of the API.
func (d *dojo) ask(ctx context.Context, method, target string, body io.Reader, media string, into any) error {
	text, err := d.send(ctx, method, target, body, media)
	if err != nil {
		return err
	}
	return decode(text, into)
}

func (d *dojo) get(ctx context.Context, target string, into any) error {
	return d.ask(ctx, http.MethodGet, target, nil, "", into)
}

// submit sends a form, as a browser does. A form that was refused is shown again; one
// that was taken leads elsewhere, and that page is no part of the time.
func (d *dojo) submit(ctx context.Context, target string, fields url.Values) error {
	for _, c := range d.http.Jar.Cookies(d.base) {
		if c.Name == "csrftoken" {
			fields.Set("csrfmiddlewaretoken", c.Value)
		}
	}
	stay := *d.http
	stay.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, d.base.String()+target, strings.NewReader(fields.Encode()))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", formType)
	req.Header.Set("Referer", req.URL.String())
	resp, err := stay.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusFound {
		return fmt.Errorf("POST %s: %s instead of going on: it was refused", target, resp.Status)
	}
	return nil
}

func (d *dojo) name() string { return "DefectDojo" }

func (d *dojo) version(ctx context.Context) (string, error) {
	var schema struct {
		Info struct {
			Version string `json:"version"`
		} `json:"info"`
	}
	err := d.get(ctx, "/api/v2/oa3/schema/?format=json", &schema)
	return schema.Info.Version, err
}

// take imports the first report of a project, and has later ones compared with it.
func (d *dojo) take(ctx context.Context, project, commit string, report []byte) error {
	fields := map[string]string{
		"scan_type": scanType, "minimum_severity": "Info", "active": "true", "verified": "false",
		"close_old_findings": "true", "branch_tag": "main", "commit_hash": commit,
	}
	test, again := d.tests[project]
	target := "/api/v2/import-scan/"
	if again {
		target = "/api/v2/reimport-scan/"
		fields["test"] = strconv.Itoa(test)
	} else {
		fields["product_type_name"], fields["product_name"], fields["engagement_name"] = "peer", project, "main"
		fields["auto_create_context"] = "true"
	}
	body, media, err := upload(fields, report)
	if err != nil {
		return err
	}
	var answer struct {
		Test int `json:"test"`
	}
	if err := d.ask(ctx, http.MethodPost, target, body, media, &answer); err != nil {
		return err
	}
	d.tests[project] = answer.Test
	return nil
}

func upload(fields map[string]string, report []byte) (io.Reader, string, error) {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for name, value := range fields {
		if err := form.WriteField(name, value); err != nil {
			return nil, "", err
		}
	}
	file, err := form.CreateFormFile("file", "semgrep.json")
	if err != nil {
		return nil, "", err
	}
	_, err = file.Write(report)
	return &body, form.FormDataContentType(), errors.Join(err, form.Close())
}

// findings are a page of findings.
type findings struct {
	Count   int `json:"count"`
	Results []struct {
		ID int64 `json:"id"`
	} `json:"results"`
}

func (d *dojo) list(ctx context.Context, limit int, filters ...string) (list findings, err error) {
	q := url.Values{"limit": {strconv.Itoa(limit)}}
	for i := 0; i+1 < len(filters); i += 2 {
		q.Set(filters[i], filters[i+1])
	}
	return list, d.get(ctx, "/api/v2/findings/?"+q.Encode(), &list)
}

func (d *dojo) counts(ctx context.Context, project string) (c counts, err error) {
	test := strconv.Itoa(d.tests[project])
	for _, of := range []struct {
		filter string
		into   *int
	}{{"active", &c.open}, {"is_mitigated", &c.fixed}, {"false_p", &c.decided}} {
		list, err := d.list(ctx, 1, "test", test, of.filter, "true")
		if err != nil {
			return c, err
		}
		*of.into = list.Count
	}
	return c, nil
}

func (d *dojo) page(ctx context.Context) (int, error) {
	list, err := d.list(ctx, 100, "active", "true", "severity", "High")
	return len(list.Results), err
}

func (d *dojo) open(ctx context.Context, project string, n int) (ids []int64, err error) {
	list, err := d.list(ctx, n, "test", strconv.Itoa(d.tests[project]), "active", "true")
	for _, f := range list.Results {
		ids = append(ids, f.ID)
	}
	return ids, err
}

// decide uses the form of its pages: its API decides one finding a request.
func (d *dojo) decide(ctx context.Context, ids []int64) error {
	fields := url.Values{"status": {"on"}, "false_p": {"on"}}
	for _, id := range ids {
		fields.Add("finding_to_update", strconv.FormatInt(id, 10))
	}
	return d.submit(ctx, "/finding/bulk", fields)
}

// queue is how its background work stands.
type queue struct {
	Worker bool `json:"worker_status"`
	Length *int `json:"queue_length"` // nil where it does not know
}

func (d *dojo) status(ctx context.Context) (q queue, err error) {
	return q, d.get(ctx, "/api/v2/celery/status/", &q)
}

func (d *dojo) settle(ctx context.Context) error {
	for empty := 0; empty < settledLooks; {
		q, err := d.status(ctx)
		if err != nil {
			return err
		}
		empty++
		if q.Length == nil || *q.Length > 0 {
			empty = 0
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("its background work does not end: %w", ctx.Err())
		case <-time.After(d.pause):
		}
	}
	return nil
}
