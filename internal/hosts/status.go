package hosts

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/policy"
	"github.com/redoubt/redoubt/internal/queue"
	"github.com/redoubt/redoubt/internal/scm"
	"github.com/redoubt/redoubt/internal/store"
)

// statusName is the context of our commit statuses.
const statusName = "redoubt"

// maxLines is the maximum number of comments on lines of a change request.
const maxLines = 25

// Time limits of one job: reportTimeout for requests to a host, and holdFor for the lock of a change
// request. The lock lasts longer, so that another server never writes at the same time.
const (
	reportTimeout = 2 * time.Minute
	holdFor       = 3 * time.Minute
	heldWait      = 3 * time.Second
)

// message is a report about a commit to its code host.
type message struct {
	deployment model.Deployment
	update     store.StatusUpdate
	connection model.Connection
	repository model.Repository
	facts      store.CommitFacts
	verdict    verdict
	items      []item // of all scans of the commit, on any ref
}

// ReportStatus runs a store.StatusJob: it reports the results of a commit to its code host.
func (k *Service) ReportStatus(ctx context.Context, j model.Job, about store.StatusUpdate) error {
	m := message{update: about}
	err := k.Store.View(ctx, j.DeploymentID, func(ctx context.Context, tx *store.Tx) error {
		return m.read(ctx, tx, k.Clock())
	})
	switch {
	case errors.Is(err, model.ErrNotFound):
		return queue.PermanentError{Reason: "the project no longer belongs to a connection"}
	case err != nil || m.verdict.state == 0:
		return err
	}
	saying, cancel := context.WithTimeout(ctx, reportTimeout)
	defer cancel()
	err = k.sendStatus(saying, m)
	if err == nil && m.verdict.recheckAfter > 0 { // the awaited scan may never arrive
		return queue.WaitError{Wait: m.verdict.recheckAfter, Reason: "a scan of the commit has not finished"}
	}
	return k.delayedJobError(j, err)
}

// jobError converts an error of a host to one of a job. Refusals are permanent. A host that asks to
// wait is retried after that time. No error is reported as an outage of the database.
func jobError(err error) error {
	var wait queue.WaitError
	var busy *model.BusyError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wait):
		return wait
	case errors.As(err, &busy):
		return queue.WaitError{Wait: busy.Wait, Reason: busy.Text}
	case refused(err):
		return queue.PermanentError{Reason: err.Error()}
	}
	return errors.New(err.Error())
}

// Bounds of the delay before a job retries a host that is unavailable.
const (
	downWait     = 5 * time.Second
	downWaitMost = 5 * time.Minute
)

// delayedJobError returns the error of a job, with a delay if the host is unavailable. The delay grows
// with the age of the job. Such jobs are retried for up to a day.
func (k *Service) delayedJobError(j model.Job, err error) error {
	if errors.Is(err, model.ErrUnavailable) {
		wait := k.Clock().Sub(j.CreatedAt) / 4
		return queue.WaitError{Wait: min(max(wait, downWait), downWaitMost), Reason: model.Line(err.Error())}
	}
	return jobError(err)
}

// read loads the data of the report.
func (m *message) read(ctx context.Context, tx *store.Tx, now time.Time) (err error) {
	m.deployment = tx.Deployment()
	t := m.update
	if m.repository, err = tx.Repository(ctx, t.ProjectID); err != nil {
		return err
	}
	if m.connection, err = tx.Connection(ctx, m.repository.ConnectionID); err != nil {
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
	if m.facts, err = tx.CommitFacts(ctx, t.ProjectID, t.Commit); err != nil {
		return err
	}
	for _, s := range m.facts.Scans {
		if s.Status != model.ScanCompleted {
			continue
		}
		if err := m.readScan(ctx, tx, s, given.On(s.Ref)); err != nil {
			return err
		}
	}
	m.verdict = judge(m.facts, m.items, now)
	return nil
}

// readScan adds the findings of a scan that block, and those that its policies comment on.
func (m *message) readScan(ctx context.Context, tx *store.Tx, scan model.Scan, given policy.EffectivePolicy) error {
	account, err := tx.ScanAccount(ctx, scan.ID)
	if err != nil && !errors.Is(err, model.ErrNotFound) {
		return err
	}
	var ids []int64
	stops := map[int64]bool{}
	if account.Gate != nil {
		for _, b := range account.Gate.Blocking {
			ids, stops[b.FindingID] = append(ids, b.FindingID), true
		}
	}
	if !scan.Full { // a full scan reports what existed long before the change
		ids = append(ids, account.Reported...)
	}
	found, err := tx.FindingsByID(ctx, ids)
	if err != nil {
		return err
	}
	byID := make(map[int64]model.Finding, len(found))
	lineages := make([]int64, 0, len(found))
	for _, f := range found {
		byID[f.ID] = f
		lineages = append(lineages, f.LineageID)
	}
	open, err := tx.OpenLineages(ctx, scan.ProjectID, []string{scan.Ref}, lineages)
	if err != nil {
		return err
	}
	listed := map[int64]bool{}
	for _, id := range ids {
		f, is := byID[id]
		if !is || listed[f.LineageID] || !open[f.LineageID] ||
			!stops[id] && given.RuleMode(f.RuleName).Mode != model.ModeComment {
			continue
		}
		listed[f.LineageID] = true
		i := item{
			ref: scan.Ref, scan: scan.ID, lineage: f.LineageID, finding: f.ID, rule: f.RuleName,
			path: f.Path, line: f.Line, severity: f.Severity, blocks: stops[id],
		}
		bodies, err := tx.FindingBodies(ctx, []int64{id})
		if err != nil {
			return err
		}
		if err := i.read(bodies[id].Body); err != nil {
			return fmt.Errorf("read the body of finding %d: %w", id, err)
		}
		m.items = append(m.items, i)
	}
	return nil
}

// sendStatus sends the commit status, and updates comments at the change requests whose head is the
// commit. Comments wait for running scans. Success waits if a change request was unknown until now.
func (k *Service) sendStatus(ctx context.Context, m message) error {
	h, err := k.host(m.deployment.ID, m.connection)
	if err != nil {
		return err
	}
	base := k.PublicURL() + "/orgs/" + m.deployment.Slug
	v := m.verdict
	var changes []model.ChangeRequest
	var unlisted error
	if v.state != scm.StatusPending {
		if changes, unlisted = changesOf(ctx, h, m); unlisted == nil {
			fresh, err := k.proposeAll(ctx, m, changes)
			if err != nil {
				return err
			}
			if fresh && v.state == scm.StatusSuccess {
				return queue.WaitError{Wait: heldWait, Reason: "new change requests were still being recorded"}
			}
		}
	}
	if err := h.SetStatus(ctx, m.repository, m.update.Commit, scm.Status{
		State:   v.state,
		Context: statusName,
		Text:    model.Line(v.text),
		URL:     base + v.page,
	}); err != nil {
		return err
	}
	if unlisted != nil {
		return unlisted
	}
	for _, at := range changes {
		if err := k.comment(ctx, h, m, at, base); err != nil {
			return err
		}
	}
	return nil
}

// proposeAll stores the change requests of a commit, and reports whether one was new or had another
// head.
func (k *Service) proposeAll(ctx context.Context, m message, changes []model.ChangeRequest) (some bool, err error) {
	if len(changes) == 0 {
		return false, nil
	}
	err = k.Store.Update(ctx, m.deployment.ID, following, func(ctx context.Context, tx *store.Tx) error {
		for _, c := range changes {
			fresh, err := k.propose(ctx, tx, m.repository, c)
			if err != nil {
				return err
			}
			some = some || fresh
		}
		return nil
	})
	return some, err
}

// comment updates the comments of a change request under its lock.
func (k *Service) comment(ctx context.Context, h scm.Host, m message, at model.ChangeRequest, base string) (err error) {
	at.RepositoryID = m.repository.ID
	c := commenting{
		service: k, host: h, message: m, at: at, refs: refsOf(m.facts, at),
		page: func(id int64) string { return base + "/findings/" + strconv.FormatInt(id, 10) },
	}
	c.items, c.blocking = nil, base+m.verdict.page
	listed := map[int64]bool{}
	for _, i := range m.items {
		if c.refs[i.ref] && !listed[i.lineage] {
			listed[i.lineage] = true
			c.items = append(c.items, i)
		}
	}
	return k.alone(ctx, m.deployment.ID, at, c.run)
}

// alone calls write while it has the lock of a change request. If another server has the lock, it
// returns a queue.WaitError. The timeout of write ends before the lock does.
func (k *Service) alone(
	ctx context.Context, deploymentID int64, at model.ChangeRequest, write func(context.Context) error,
) (err error) {
	ctx, cancel := context.WithTimeout(ctx, reportTimeout)
	defer cancel()
	mine, until := false, time.Time{}
	err = k.Store.Update(ctx, deploymentID, following, func(ctx context.Context, tx *store.Tx) error {
		until, mine, err = tx.ClaimChange(ctx, at.RepositoryID, at.Number, holdFor)
		return err
	})
	if err != nil {
		return err
	}
	if !mine {
		return queue.WaitError{Wait: heldWait, Reason: "another server is updating the change request"}
	}
	defer func() {
		freed := k.Store.Update(context.WithoutCancel(ctx), deploymentID, following,
			func(ctx context.Context, tx *store.Tx) error {
				return tx.FreeChange(ctx, at.RepositoryID, at.Number, until)
			})
		err = errors.Join(err, freed)
	}()
	return write(ctx)
}
