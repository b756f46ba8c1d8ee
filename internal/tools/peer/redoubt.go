package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/redoubt/redoubt/api"
)

// startTime is how long a server may take to answer.
const startTime = time.Minute

// ours is a Redoubt that was started to be measured.
type ours struct {
	program, engine string
	cmd             *exec.Cmd
	client          *api.Client
	deployment      string
}

// serve starts Redoubt on a fresh SQLite file below home, or on an empty PostgreSQL.
func serve(ctx context.Context, program, home, database string) (*ours, error) {
	s := &ours{program: program, engine: "SQLite"}
	if database != "" {
		s.engine = "PostgreSQL"
	}
	dir := filepath.Join(home, strings.ToLower(s.engine))
	ready := filepath.Join(dir, "ready.json")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	s.cmd = exec.CommandContext(ctx, program, "serve", "--data", filepath.Join(dir, "data"), "--deployment", "peer", "--addr", "127.0.0.1:0", "--ready-file", ready)
	s.cmd.Env = append(os.Environ(), "REDOUBT_DATABASE_URL="+database)
	s.cmd.Cancel = func() error { return s.cmd.Process.Signal(os.Interrupt) }
	var log bytes.Buffer
	s.cmd.Stderr = &log
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	var told struct {
		Address    string `json:"base_url"`
		Deployment string `json:"deployment_slug"`
		Token      string `json:"token"`
	}
	for until := time.Now().Add(startTime); time.Now().Before(until) && ctx.Err() == nil; time.Sleep(100 * time.Millisecond) {
		if text, err := os.ReadFile(ready); err == nil && decode(text, &told) == nil {
			s.client, s.deployment = api.New(told.Address, told.Token), told.Deployment
			s.client.Retries = -1 // a second try would be measured too
			break
		}
	}
	switch {
	case s.client == nil:
		s.stop()
		return nil, fmt.Errorf("redoubt on %s does not start: %s", s.engine, bytes.TrimSpace(log.Bytes()))
	case told.Token == "":
		s.stop()
		return nil, fmt.Errorf("the database of %s holds a deployment already: name an empty one", databaseVariable)
	}
	return s, nil
}

// stop ends the server, and waits for it.
func (s *ours) stop() {
	_ = s.cmd.Process.Signal(os.Interrupt) // it may be gone
	_ = s.cmd.Wait()                       // ends by the signal
}

func (s *ours) name() string { return "Redoubt, " + s.engine }

func (s *ours) version(ctx context.Context) (string, error) {
	text, err := exec.CommandContext(ctx, s.program, "version").Output()
	return strings.TrimSpace(string(text)), err
}

func (s *ours) take(ctx context.Context, project, commit string, report []byte) error {
	answer, err := s.client.ImportReport(ctx, s.deployment, api.ImportQuery{Project: project, Ref: "main", Commit: commit, Full: true, Filename: "semgrep.json"}, bytes.NewReader(report))
	if err != nil {
		return err
	}
	for _, taken := range answer.Imports {
		if taken.RefusedCount > 0 || taken.Outcome != "applied" {
			return fmt.Errorf("the report was not taken whole: %s, %d refused", taken.Outcome, taken.RefusedCount)
		}
	}
	return nil
}

func (s *ours) counts(ctx context.Context, project string) (c counts, err error) {
	answer, err := s.client.CountFindings(ctx, s.deployment, api.CountFindingsQuery{FindingsSelection: api.FindingsSelection{Repos: []string{project}}, GroupBy: []string{"status"}})
	if missing := (*api.Problem)(nil); errors.As(err, &missing) && missing.Status == 404 {
		return c, nil
	}
	if err != nil {
		return c, err
	}
	for _, group := range answer.Groups {
		for _, v := range group.Values {
			switch v.Value {
			case "open":
				c.open = int(v.Count)
			case "fixed":
				c.fixed = int(v.Count)
			case "ignored":
				c.decided = int(v.Count)
			}
		}
	}
	return c, nil
}

// list reads a page of open findings.
func (s *ours) list(ctx context.Context, q api.FindingsQuery) ([]api.CodeFinding, error) {
	q.IssueType, q.Status = "sast", []string{"open"}
	answer, err := s.client.ListFindings(ctx, s.deployment, q)
	if err != nil {
		return nil, err
	}
	return answer.SASTFindings.Findings, nil
}

func (s *ours) page(ctx context.Context) (int, error) {
	list, err := s.list(ctx, api.FindingsQuery{Severities: []string{"high"}, PageSize: 100})
	return len(list), err
}

func (s *ours) open(ctx context.Context, project string, n int) (ids []int64, err error) {
	list, err := s.list(ctx, api.FindingsQuery{Repos: []string{project}, PageSize: int64(n)})
	for _, f := range list {
		ids = append(ids, f.ID)
	}
	return ids, err
}

func (s *ours) decide(ctx context.Context, ids []int64) error {
	r := api.TriageRequest{IssueType: "sast", NewTriageState: "ignored", NewTriageReason: "false_positive"}
	for _, id := range ids {
		r.IssueIDs = append(r.IssueIDs, api.Int(id))
	}
	_, err := s.client.TriageFindings(ctx, s.deployment, r)
	return err
}

// settle has nothing to wait for: what an import does is done when it is answered.
func (s *ours) settle(context.Context) error { return nil }
