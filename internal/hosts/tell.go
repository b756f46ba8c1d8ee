package hosts

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/job"
	"github.com/redoubt/redoubt/internal/policy"
	"github.com/redoubt/redoubt/internal/scm"
	"github.com/redoubt/redoubt/internal/store"
)

// statusName is who says what beside a commit.
const statusName = "redoubt"

// maxLines is how many comments on lines a change request gets.
const maxLines = 25

// message is what a host is to be told.
type message struct {
	deployment redoubt.Deployment
	telling    store.Telling
	connection redoubt.Connection
	repository redoubt.Repository
	scan       int64 // the newest, or the one that blocks; 0: none
	items      []item
}

// Tell is the job.Work that tells a code host what became of a commit (store.TellJob).
func (k *Keeper) Tell(ctx context.Context, j redoubt.Job) (result []byte, media string, err error) {
	m := message{}
	if err := json.Unmarshal(j.Input, &m.telling); err != nil {
		return nil, "", job.PermanentError{Reason: "its job cannot be read"}
	}
	newer := false
	err = k.Store.View(ctx, j.DeploymentID, func(ctx context.Context, tx *store.Tx) error {
		if newer, err = tx.NewerTelling(ctx, m.telling); err != nil || newer {
			return err
		}
		return m.read(ctx, tx)
	})
	switch {
	case errors.Is(err, redoubt.ErrNotFound):
		return nil, "", job.PermanentError{Reason: "the project is no repository of a connection any more"}
	case err != nil || newer:
		return nil, "", err
	}
	return nil, "", asked(k.say(ctx, m))
}

// asked is an error of a host as one of a job: no outage of the database, and for good
// where another try mends nothing.
func asked(err error) error {
	switch {
	case err == nil:
		return nil
	case refused(err):
		return job.PermanentError{Reason: err.Error()}
	}
	return errors.New(err.Error())
}

// read finds out what is to be told.
func (m *message) read(ctx context.Context, tx *store.Tx) (err error) {
	m.deployment = tx.Deployment()
	t := m.telling
	if m.repository, err = tx.Repository(ctx, t.ProjectID); err != nil {
		return err
	}
	if m.connection, err = tx.Connection(ctx, m.repository.ConnectionID); err != nil || t.State != "" {
		return err
	}
	project, err := tx.Project(ctx, t.ProjectID)
	if err != nil {
		return err
	}
	given, err := policy.LoadEffectivePolicy(ctx, tx, project)
	if err != nil {
		return err
	}
	scans, err := tx.ScansOfCommit(ctx, t.ProjectID, t.Ref, t.Commit)
	told := map[int64]bool{}
	blocks := false
	for _, id := range scans {
		if err != nil {
			return err
		}
		before := len(m.items)
		err = m.readScan(ctx, tx, id, given.On(t.Ref), told)
		stops := len(m.items) > before && m.items[before].blocks // those come first
		if m.scan == 0 || stops || !blocks {
			m.scan, blocks = id, blocks || stops
		}
	}
	return err
}

// readScan adds what blocks of a scan, and then what its policies comment on.
func (m *message) readScan(ctx context.Context, tx *store.Tx, id int64, given policy.EffectivePolicy, told map[int64]bool) error {
	scan, err := tx.Scan(ctx, id)
	if err != nil {
		return err
	}
	account, err := tx.ScanAccount(ctx, id)
	if err != nil && !errors.Is(err, redoubt.ErrNotFound) {
		return err
	}
	var ids []int64
	stops := map[int64]bool{}
	if account.Gate != nil {
		for _, b := range account.Gate.Blocking {
			ids, stops[b.FindingID] = append(ids, b.FindingID), true
		}
	}
	if !scan.Full { // a full scan reports what was there long before the change
		ids = append(ids, account.Reported...)
	}
	found, err := tx.FindingsByID(ctx, ids)
	if err != nil {
		return err
	}
	byID := make(map[int64]redoubt.Finding, len(found))
	lineages := make([]int64, 0, len(found))
	for _, f := range found {
		byID[f.ID] = f
		lineages = append(lineages, f.LineageID)
	}
	open, err := tx.OpenLineages(ctx, m.telling.ProjectID, m.telling.Ref, lineages)
	if err != nil {
		return err
	}
	for _, id := range ids {
		f, is := byID[id]
		if !is || told[f.LineageID] || !open[f.LineageID] || !stops[id] && given.Stance(f.RuleName).Mode != redoubt.ModeComment {
			continue
		}
		told[f.LineageID] = true
		i := item{lineage: f.LineageID, finding: f.ID, rule: f.RuleName, path: f.Path, line: f.Line, severity: f.Severity, blocks: stops[id]}
		bodies, err := tx.FindingBodies(ctx, []int64{id})
		if err != nil {
			return err
		}
		if err := i.read(bodies[id].Body); err != nil {
			return fmt.Errorf("the body of finding %d: %w", id, err)
		}
		m.items = append(m.items, i)
	}
	return nil
}

// say tells the host.
func (k *Keeper) say(ctx context.Context, m message) error {
	h, err := k.host(m.deployment.ID, m.connection)
	if err != nil {
		return err
	}
	base := k.PublicURL() + "/orgs/" + m.deployment.Slug
	at, err := k.changeOf(ctx, h, m)
	if err != nil {
		return err
	}
	if err := h.SetStatus(ctx, m.repository, m.telling.Commit, m.status(base)); err != nil || at.Number == 0 || m.telling.State != "" {
		return err
	}
	open := func(lineages []int64) (open map[int64]bool, err error) {
		err = k.Store.View(ctx, m.deployment.ID, func(ctx context.Context, tx *store.Tx) error {
			open, err = tx.OpenLineages(ctx, m.telling.ProjectID, m.telling.Ref, lineages)
			return err
		})
		return open, err
	}
	c := commenting{host: h, message: m, at: at, open: open, page: func(id int64) string { return base + "/findings/" + strconv.FormatInt(id, 10) }}
	c.blocking = base + "/scans/" + strconv.FormatInt(m.scan, 10) + "/blocking"
	return c.run(ctx)
}

// status is what stands beside the commit.
func (m message) status(base string) scm.Status {
	s := scm.Status{Context: statusName, Text: redoubt.Line(m.telling.Text), URL: base + m.telling.URL}
	switch m.telling.State {
	case "pending":
		s.State = scm.StatusPending
		return s
	case "error":
		s.State = scm.StatusError
		return s
	}
	stop := 0
	for _, i := range m.items {
		if i.blocks {
			stop++
		}
	}
	s.State, s.Text, s.URL = scm.StatusSuccess, counted(stop, len(m.items)-stop), fmt.Sprintf("%s/scans/%d", base, m.scan)
	if len(m.items) == 0 {
		s.Text = "no blocking findings"
	}
	if stop > 0 {
		s.State, s.URL = scm.StatusFailure, s.URL+"/blocking"
	}
	return s
}

// changeNumber is the number in a ref under which hosts have a change request.
var changeNumber = regexp.MustCompile(`^refs/(?:pull|merge-requests)/([0-9]{1,18})/`)

// changeOf finds the open change request whose commit was scanned; none is the zero
// one. A commit that is no longer its head gets its status and no comments.
func (k *Keeper) changeOf(ctx context.Context, h scm.Host, m message) (redoubt.ChangeRequest, error) {
	if number := changeNumber.FindStringSubmatch(m.telling.Ref); number != nil {
		n, err := strconv.ParseInt(number[1], 10, 64)
		if err != nil {
			return redoubt.ChangeRequest{}, err
		}
		c, err := h.ChangeRequest(ctx, m.repository, n)
		if errors.Is(err, redoubt.ErrNotFound) || err == nil && (c.State != redoubt.ChangeOpen || c.HeadCommit != m.telling.Commit) {
			return redoubt.ChangeRequest{}, nil
		}
		return c, err
	}
	open, err := h.ChangeRequests(ctx, m.repository)
	for _, c := range open {
		if c.HeadCommit == m.telling.Commit && (c.Fork || "refs/heads/"+c.HeadRef == cmp.Or(m.telling.Ref, "refs/heads/"+c.HeadRef)) {
			return c, err
		}
	}
	return redoubt.ChangeRequest{}, err
}
