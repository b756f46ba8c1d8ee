package store

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redoubt/redoubt"
)

const exceptionColumns = `id, target, paths_json, projects_json, reason, triage_reason, until_at, created_at, created_by`

func scanException(r row) (e redoubt.Exception, err error) {
	return e, r.Scan(&e.ID, &e.Target, decoded(&e.Paths), decoded(&e.Projects), &e.Reason, &e.TriageReason, instant(&e.Until), instant(&e.CreatedAt), &e.CreatedBy)
}

// exceptionImage is what the audit trail tells of an exception.
type exceptionImage struct {
	Target       string   `json:"target"`
	Paths        []string `json:"paths,omitempty"`
	Projects     []string `json:"projects,omitempty"`
	Reason       string   `json:"reason"`
	TriageReason string   `json:"triage_reason"`
	Until        string   `json:"until"` // "forever" where it has no end
}

func imageOfException(e redoubt.Exception) exceptionImage {
	until := "forever"
	if !e.Until.IsZero() {
		until = e.Until.UTC().Format(time.RFC3339)
	}
	return exceptionImage{e.Target, e.Paths, e.Projects, e.Reason, e.TriageReason.String(), until}
}

// Exceptions lists the deployment's exceptions by id, those too that are over.
func (tx *Tx) Exceptions(ctx context.Context) (redoubt.Exceptions, error) {
	return many(ctx, tx, scanException, `SELECT `+exceptionColumns+` FROM exception WHERE deployment_id = $1 ORDER BY id`)
}

// Exception finds one by its id; an unknown one is redoubt.ErrNotFound.
func (tx *Tx) Exception(ctx context.Context, id int64) (redoubt.Exception, error) {
	e, err := one(ctx, tx, scanException, `SELECT `+exceptionColumns+` FROM exception WHERE deployment_id = $1 AND id = $2`, id)
	if err != nil {
		return e, fmt.Errorf("exception %d: %w", id, err)
	}
	return e, nil
}

// AddException makes an exception, which ignores what it covers in the same
// transaction, and returns it with its id and how many findings' triage changed.
func (tx *Tx) AddException(ctx context.Context, e redoubt.Exception) (_ redoubt.Exception, changed int, err error) {
	if err := e.Check(tx.now); err != nil {
		return e, 0, err
	}
	if e.ID, err = tx.newID(ctx, seqException); err != nil {
		return e, 0, err
	}
	e.CreatedAt, e.CreatedBy = tx.now, tx.actor.String()
	row := []any{
		e.ID, e.Target, encoded(orEmpty(e.Paths)), encoded(orEmpty(e.Projects)), e.Reason, int64(e.TriageReason), e.Until, e.CreatedAt, e.CreatedBy,
	}
	if err := tx.insert(ctx, `exception (deployment_id, `+exceptionColumns+`)`, [][]any{row}, ""); err != nil {
		return e, 0, fmt.Errorf("add an exception: %w", err)
	}
	tx.audit("exception.create", subject("exception", e.ID), nil, imageOfException(e))
	changed, err = tx.ExceptAll(ctx)
	return e, changed, err
}

// RemoveException ends an exception, and reopens what it ignored in the same
// transaction. An unknown one is redoubt.ErrNotFound.
func (tx *Tx) RemoveException(ctx context.Context, id int64) (_ redoubt.Exception, changed int, err error) {
	e, err := tx.Exception(ctx, id)
	if err != nil {
		return e, 0, err
	}
	if _, err := tx.exec(ctx, `DELETE FROM exception WHERE deployment_id = $1 AND id = $2`, id); err != nil {
		return e, 0, err
	}
	tx.audit("exception.delete", subject("exception", id), imageOfException(e), nil)
	changed, err = tx.ExceptAll(ctx)
	return e, changed, err
}

// Excepted counts what each exception ignores now, in lineages, by its id.
func (tx *Tx) Excepted(ctx context.Context) (map[int64]int, error) {
	counts := map[int64]int{}
	return counts, each(ctx, tx, func(r row) error {
		var by redoubt.Actor
		var n int
		if err := r.Scan(decoded(&by), &n); err != nil {
			return err
		}
		id, err := strconv.ParseInt(by.ID, 10, 64)
		counts[id] = n
		return err
	}, `SELECT triaged_by_json, COUNT(*) FROM lineage WHERE deployment_id = $1 AND automatic = 1 AND triage_state = $2
		AND `+byException+` GROUP BY triaged_by_json`, int64(redoubt.TriageIgnored))
}

// ExceptedFindings lists the occurrences of what an exception ignores now, by its
// id and by product; of all exceptions where the id is 0.
func (tx *Tx) ExceptedFindings(ctx context.Context, id int64) (map[int64]map[redoubt.IssueType][]int64, error) {
	out := map[int64]map[redoubt.IssueType][]int64{}
	query, args := `SELECT l.triaged_by_json, f.issue_type, f.id FROM lineage l
		JOIN finding f ON f.deployment_id = l.deployment_id AND f.lineage_id = l.id
		WHERE l.deployment_id = $1 AND l.automatic = 1 AND l.triage_state = $2 AND l.`+byException, []any{int64(redoubt.TriageIgnored)}
	if id != 0 {
		query += ` AND l.triaged_by_json = $3`
		args = append(args, encoded((&redoubt.Exception{ID: id}).Actor()))
	}
	return out, each(ctx, tx, func(r row) error {
		var by redoubt.Actor
		var t redoubt.IssueType
		var finding int64
		if err := r.Scan(decoded(&by), &t, &finding); err != nil {
			return err
		}
		of, err := strconv.ParseInt(by.ID, 10, 64)
		if out[of] == nil {
			out[of] = map[redoubt.IssueType][]int64{}
		}
		out[of][t] = append(out[of][t], finding)
		return err
	}, query, args...)
}

// byException picks the lineages that an exception decided about last.
const byException = `triaged_by_json LIKE '{"kind":"exception"%'`

// ExceptAll brings all findings in line with the exceptions, and returns how
// many lineages changed. Beside exceptions that end it follows what an upload
// does not show: new names of projects and vulnerabilities.
func (tx *Tx) ExceptAll(ctx context.Context) (int, error) {
	events, err := tx.exceptionEvents(ctx, nil)
	if err != nil || len(events) == 0 {
		return 0, err
	}
	return len(events), tx.UpdateTriage(ctx, events)
}

// ExceptionPreview tells how many lineages AddException of one, or
// RemoveException of the other, would change; nil and 0 are none. It only reads.
func (tx *Tx) ExceptionPreview(ctx context.Context, add *redoubt.Exception, remove int64) (int, error) {
	list, err := tx.Exceptions(ctx)
	if err != nil {
		return 0, err
	}
	held, err := tx.heldVEXes(ctx)
	if err != nil {
		return 0, err
	}
	list = slices.DeleteFunc(list, func(e redoubt.Exception) bool { return e.ID == remove })
	if add != nil {
		e := *add
		e.ID = math.MaxInt64 // those that are there come first, as they will
		list = append(list, e)
	}
	events, err := tx.judge(ctx, list, held, nil)
	return len(events), err
}

// ExceptionsDue tells how many lineages ExceptAll would change. It only reads.
func (tx *Tx) ExceptionsDue(ctx context.Context) (int, error) {
	events, err := tx.exceptionEvents(ctx, nil)
	return len(events), err
}

// Except brings lineages in line with the exceptions, and with them all that an
// exception ignored that is over by now. What was decided until a time that is
// over comes first: an exception may cover what that reopens.
func (tx *Tx) Except(ctx context.Context, lineages []int64) error {
	ended, err := tx.ExpireDecisions(ctx)
	if err != nil {
		return err
	}
	events, err := tx.exceptionEvents(ctx, orEmpty(append(slices.Clip(lineages), ended...)))
	if err != nil || len(events) == 0 {
		return err
	}
	return tx.UpdateTriage(ctx, events)
}

// exceptionEvents lists what the exceptions change: of all lineages where the
// list is nil.
func (tx *Tx) exceptionEvents(ctx context.Context, lineages []int64) (events []redoubt.TriageEvent, err error) {
	list, err := tx.Exceptions(ctx)
	if err != nil {
		return nil, err
	}
	held, err := tx.heldVEXes(ctx)
	if err != nil || len(list)+len(held) == 0 && lineages != nil {
		return nil, err
	}
	return tx.judge(ctx, list, held, lineages)
}

// judge lists what exceptions and documents change of lineages, of all where
// the list is nil.
func (tx *Tx) judge(ctx context.Context, list redoubt.Exceptions, held map[int64]*redoubt.VEXDocument, lineages []int64) (events []redoubt.TriageEvent, err error) {
	targets := make([]string, len(list))
	for i := range list {
		targets[i] = strings.ToUpper(list[i].Target)
	}
	known, err := tx.aliasesOf(ctx, targets, nil)
	if err != nil {
		return nil, err
	}
	ids, err := tx.excusedLineages(ctx, list, known, lineages)
	if err != nil {
		return nil, err
	}
	if ids, err = tx.addClaimed(ctx, ids, len(held) > 0, lineages); err != nil {
		return nil, err
	}
	for part := range slices.Chunk(ids, feedBatch) {
		cases, err := tx.excused(ctx, part, known, held)
		if err != nil {
			return nil, err
		}
		for i := range cases {
			if e, changed := list.Judge(&cases[i], tx.now); changed {
				events = append(events, e)
			}
		}
	}
	return events, nil
}

// aliases are the names of vulnerabilities that exceptions name, in upper case:
// all of a vulnerability by each of them, and by its group of advisories.
type aliases struct {
	byName  map[string][]string
	byGroup map[int64][]string
}

// excusedLineages lists the lineages that exceptions may decide about, or did:
// those of the list, and all that one ignored that is over. Nil lists all.
func (tx *Tx) excusedLineages(ctx context.Context, list redoubt.Exceptions, known aliases, lineages []int64) ([]int64, error) {
	targets, over := []string{}, []string{}
	for i := range list {
		targets = append(targets, list[i].Target)
		if !list[i].Active(tx.now) {
			over = append(over, encoded(list[i].Actor()))
		}
	}
	const (
		ofFindings = `SELECT DISTINCT f.lineage_id FROM finding f WHERE f.deployment_id = $1`
		ofSubjects = `SELECT DISTINCT f.lineage_id FROM finding_subject s
			JOIN finding f ON f.deployment_id = s.deployment_id AND f.id = s.finding_id WHERE s.deployment_id = $1`
		ofLineages = `SELECT id FROM lineage WHERE deployment_id = $1 AND automatic = 1`
	)
	found := map[int64]bool{}
	for _, q := range []struct {
		query   string
		column  string // is one of values; none where it is empty
		values  any
		lineage string // is one of the list; any where it is empty
	}{
		{ofFindings, "f.rule_name", targets, "f.lineage_id"},
		{ofSubjects, "UPPER(s.vulnerability)", slices.Collect(maps.Keys(known.byName)), "f.lineage_id"},
		{ofSubjects, "s.group_id", slices.Collect(maps.Keys(known.byGroup)), "f.lineage_id"},
		{ofLineages + ` AND ` + byException, "", nil, "id"},
		{ofLineages + ` AND ` + byVEX, "", nil, "id"},
		{ofLineages, "triaged_by_json", over, ""},
	} {
		w := &where{tx: tx}
		if q.column != "" {
			w.in(q.column, q.values)
		}
		if q.lineage != "" && lineages != nil {
			w.in(q.lineage, lineages)
		}
		err := each(ctx, tx, func(r row) error {
			var id int64
			err := r.Scan(&id)
			found[id] = true
			return err
		}, q.query+w.text.String(), w.args...)
		if err != nil {
			return nil, fmt.Errorf("find what exceptions cover: %w", err)
		}
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// excused reads lineages as exceptions and documents that are held see them.
func (tx *Tx) excused(ctx context.Context, ids []int64, known aliases, held map[int64]*redoubt.VEXDocument) ([]redoubt.Excused, error) {
	cases, err := tx.excusedProjects(ctx, ids)
	if err != nil {
		return nil, err
	}
	at := make(map[int64]*redoubt.Excused, len(cases))
	for i := range cases {
		at[cases[i].Lineage.ID] = &cases[i]
	}
	var subjects []subjectAt
	in, arg := tx.in("f.lineage_id", 2, ids)
	err = each(ctx, tx, func(r row) error {
		var lineage, group int64
		var path, lockfile, vulnerability string
		place := &redoubt.ExcusedPlace{}
		err := r.Scan(&lineage, &place.Ref, &place.Rule, &path, &place.State, &lockfile, &vulnerability, &group,
			&place.Ecosystem, &place.Package, &place.Version)
		vulnerability = strings.ToUpper(vulnerability)
		place.Paths, place.Names = []string{path}, slices.Concat(known.byName[vulnerability], known.byGroup[group])
		if lockfile != "" && lockfile != path {
			place.Paths = append(place.Paths, lockfile)
		}
		c := at[lineage]
		c.Places = append(c.Places, place)
		if vulnerability != "" && place.Package != "" {
			subjects = append(subjects, subjectAt{place, vulnerability, group})
		}
		return err
	}, `SELECT f.lineage_id, f.ref, f.rule_name, f.path, f.state, COALESCE(s.lockfile, ''), COALESCE(s.vulnerability, ''), COALESCE(s.group_id, 0),
			COALESCE(s.ecosystem, ''), COALESCE(s.package, ''), COALESCE(s.version, '')
		FROM finding f LEFT JOIN finding_subject s ON s.deployment_id = f.deployment_id AND s.finding_id = f.id
		WHERE f.deployment_id = $1 AND `+in+` ORDER BY f.id`, arg)
	if err != nil || len(held) == 0 || len(subjects) == 0 {
		return cases, err
	}
	return cases, tx.claim(ctx, held, subjects)
}

// excusedProjects reads lineages and the projects that they are of.
func (tx *Tx) excusedProjects(ctx context.Context, ids []int64) ([]redoubt.Excused, error) {
	lineages, err := tx.lineages(ctx, ids)
	if err != nil {
		return nil, err
	}
	cases, projects := make([]redoubt.Excused, len(lineages)), map[int64]redoubt.Project{}
	for i, l := range lineages {
		p, known := projects[l.ProjectID]
		if !known {
			if p, err = tx.Project(ctx, l.ProjectID); err != nil {
				return nil, err
			}
			projects[l.ProjectID] = p
		}
		cases[i] = redoubt.Excused{Lineage: l, Project: p}
	}
	return cases, nil
}
