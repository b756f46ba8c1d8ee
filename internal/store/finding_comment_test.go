package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
	"github.com/redoubt/redoubt/internal/triage"
)

// comment adds a comment on a finding, as a user.
func (d tenant) comment(author int64, f model.FindingWrite, text string) (c model.FindingComment, err error) {
	d.t.Helper()
	err = d.s.Update(d.t.Context(), d.id, storetest.Actor, func(ctx context.Context, tx *store.Tx) (err error) {
		c, err = triage.Comment(ctx, tx, f.Finding, text, author)
		return err
	})
	return c, err
}

// member creates a user with the viewer role.
func (d tenant) member(name string) (u model.User) {
	d.t.Helper()
	d.update(func(ctx context.Context, tx *store.Tx) (err error) {
		u, err = tx.CreateUser(ctx, model.User{Name: name}, model.RoleViewer)
		return err
	})
	return u
}

// commentsOn returns the comments on a lineage and checks the consistency of all rows.
func (d tenant) commentsOn(lineage int64) (texts []string) {
	d.t.Helper()
	d.view(func(ctx context.Context, tx *store.Tx) error {
		list, err := tx.NewestFindingComments(ctx, lineage)
		for _, c := range list {
			texts = append(texts, c.Text)
		}
		return err
	})
	if faults := d.rowFaults(); faults != "" {
		d.t.Errorf("rows that do not fit: %s", faults)
	}
	return texts
}

// TestFindingComments checks that comments stay with their lineage when findings or projects are
// merged, and are deleted with the project.
func TestFindingComments(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		ana := d.member("ana")
		d.noise().member("rival")
		p := d.project("acme/app")
		f := d.findings(p, 3, nil)
		c, err := d.comment(ana.ID, f[0], "@ana @rival @unknown @ana look")
		d.check(err)
		if want := []model.Mentioned{{UserID: ana.ID, Name: "ana"}}; !slices.Equal(c.Mentions, want) || c.WrittenBy != storetest.Actor {
			t.Errorf("%+v, want it to mention %v", c, want)
		}
		second, err := d.comment(0, f[1], "second")
		d.check(err)
		d.update(func(ctx context.Context, tx *store.Tx) error {
			list, err := tx.Lineages(ctx, []int64{f[0].LineageID})
			if err != nil {
				return err
			}
			return tx.MergeLineages(ctx, []model.LineageMerge{{Into: list[f[0].LineageID], From: []int64{f[1].LineageID}}})
		})
		if got, want := d.commentsOn(f[0].LineageID), []string{c.Text, "second"}; !slices.Equal(got, want) {
			t.Errorf("merged, the comments are %q, want %q", got, want)
		}
		into := d.project("acme/into")
		d.update(func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.MergeProjects(ctx, p.ID, into.ID)
			return err
		})
		if got := d.commentsOn(f[0].LineageID); len(got) != 2 {
			t.Errorf("in the other project, the comments are %q", got)
		}
		withdrawn := func(id, user int64, admin bool) error {
			return s.Update(t.Context(), d.id, model.Actor{Kind: "user", ID: "x"}, func(ctx context.Context, tx *store.Tx) error {
				_, err := triage.WithdrawComment(ctx, tx, f[0].Finding, id, user, admin)
				return err
			})
		}
		for what, err := range map[string]error{"another user's": withdrawn(c.ID, ana.ID+1, false), "of no user, by one": withdrawn(second.ID, ana.ID, false), "of no user, by another": withdrawn(second.ID, 0, false)} {
			if _, invalid := errors.AsType[*model.InvalidError](err); !invalid {
				t.Errorf("%s: %v", what, err)
			}
		}
		d.check(withdrawn(c.ID, ana.ID, false))
		if err := withdrawn(c.ID, ana.ID, true); !errors.Is(err, model.ErrConflict) {
			t.Errorf("twice: %v", err)
		}
		d.check(withdrawn(second.ID, ana.ID, true))
		if got := d.commentsOn(f[0].LineageID); !slices.Equal(got, []string{"", ""}) {
			t.Errorf("withdrawn, the comments are %q", got)
		}
		d.view(func(ctx context.Context, tx *store.Tx) error {
			list, err := tx.CommentsMentioning(ctx, ana.ID, 10)
			if len(list) != 0 {
				t.Errorf("a withdrawn comment mentions ana: %+v", list)
			}
			return err
		})
		audit := ""
		d.view(func(ctx context.Context, tx *store.Tx) error {
			trail, err := tx.AuditEvents(ctx, 0, 1000)
			for _, e := range trail {
				audit += fmt.Sprintln(e.Action, e.Before, e.After)
			}
			return err
		})
		if strings.Contains(audit, "second") || !strings.Contains(audit, "finding_comment.withdraw") {
			t.Errorf("the audit trail tells the text, or not that it was withdrawn: %s", audit)
		}
		d.update(func(ctx context.Context, tx *store.Tx) error { return tx.DeleteProject(ctx, into.ID) })
		if got := d.commentsOn(f[0].LineageID); len(got) != 0 {
			t.Errorf("without the project there are %q", got)
		}
	})
}

// TestFindingCommentsAreBounded checks the limits of comments per finding and per author, and of
// mentions.
func TestFindingCommentsAreBounded(t *testing.T) {
	eachTimed(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		d := newTenant(t, s)
		f := d.findings(d.project("acme/app"), 2, nil)
		fill := func(author int64, n int) {
			d.update(func(ctx context.Context, tx *store.Tx) error {
				for range n {
					if _, err := triage.Comment(ctx, tx, f[0].Finding, "x", author); err != nil {
						return err
					}
				}
				return nil
			})
		}
		fill(1, model.MaxCommentsOfOne)
		if _, err := d.comment(1, f[1], "x"); !errors.Is(err, model.ErrConflict) {
			t.Errorf("one of a person too many: %v", err)
		}
		_, err := d.comment(2, f[1], "x")
		d.check(err)
		clock.Advance(25 * time.Hour)
		_, err = d.comment(1, f[1], "x")
		d.check(err)
		fill(2, model.MaxCommentsOf-model.MaxCommentsOfOne)
		if _, err := d.comment(3, f[0], "x"); !errors.Is(err, model.ErrConflict) {
			t.Errorf("one on a finding too many: %v", err)
		}
		var text strings.Builder
		for i := range model.MaxMentions + 1 {
			text.WriteString("@" + d.member(fmt.Sprint("user", i)).Name + " ")
		}
		c, err := d.comment(4, f[1], text.String())
		d.check(err)
		if len(c.Mentions) != model.MaxMentions {
			t.Errorf("%d people are mentioned", len(c.Mentions))
		}
	})
}
