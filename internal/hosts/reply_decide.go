package hosts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/scm"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/triage"
)

// person is who decides by a reply.
type person struct {
	actor redoubt.Actor
	user  string // empty: nobody's account is linked
}

// stranger asks the host whether somebody may write to the repository; said is what they
// are told if not, and else empty.
func (w *replying) stranger(ctx context.Context, login string) (said string, err error) {
	may, asked := w.may[login]
	if !asked {
		may, err = w.host.Permission(ctx, w.repository, login)
		switch {
		case errors.Is(err, redoubt.ErrNotFound):
			may = scm.MayNothing
		case refused(err):
			return "Not done: the account of the connection may not ask the host who may write here. Let it administer the repository.", nil
		case err != nil:
			return "", err
		}
		w.may[login] = may
	}
	if may < scm.MayWrite {
		return "Not done: only who may write to the repository decides here.", nil
	}
	return "", nil
}

// person finds who somebody at the host is here; no is why they may not decide.
func (w *replying) person(ctx context.Context, login string) (p person, no, err error) {
	name, linked := w.connection.People.UserOf(login)
	if !linked {
		if w.connection.Replies != redoubt.RepliesCollaborators {
			return p, fmt.Errorf("your account is linked to no user of Redoubt. An administrator links it at Settings → Connections → %s", plain(w.connection.Name, 100)), nil
		}
		return person{actor: redoubt.Actor{Kind: "collaborator", ID: fmt.Sprintf("%d:%s", w.connection.ID, strings.ToLower(login)), Name: redoubt.Line(login) + " at " + hostOf(w.connection)}}, nil, nil
	}
	var m redoubt.Member
	err = w.keeper.Store.View(ctx, w.deployment, func(ctx context.Context, tx *store.Tx) (err error) {
		m, err = tx.Member(ctx, name)
		return err
	})
	switch {
	case errors.Is(err, redoubt.ErrNotFound) || err == nil && (!m.Enabled() || m.Role < redoubt.RoleTriager):
		return p, errors.New("the user of Redoubt that your account is linked to may not decide about findings"), nil
	case err != nil:
		return p, nil, err
	}
	return person{actor: m.Actor(), user: m.Name}, nil, nil
}

// decide does what a command asks for, and says what was done or why not.
func (w *replying) decide(ctx context.Context, tx *store.Tx, n scm.Comment, asked command, p person) (string, error) {
	f, no, err := w.finding(ctx, tx, n, asked)
	if err != nil || no != nil {
		return refusalText(no), err
	}
	request := triage.Request{
		Filter: redoubt.FindingFilter{IssueType: f.IssueType, HasIDs: true, IDs: []int64{f.ID}},
		State:  states[asked.verb], Reason: asked.reason,
	}
	if asked.verb == verbAssign {
		if request.Assign, no = w.assignee(asked.assignee, p); no != nil {
			return refusalText(no), nil
		}
	} else {
		request.Note = strings.TrimSpace(fmt.Sprintf("%s (%s at %s#%d)", asked.note, n.Author, w.repository.FullName, w.at.Number))
	}
	view, err := w.keeper.Findings(ctx, w.deployment)
	if err != nil {
		return "", err
	}
	done, err := triage.Apply(ctx, tx, view, request)
	if bad, is := errors.AsType[*redoubt.InvalidError](err); is {
		return refusalText(errors.New(plain(bad.Error(), 500))), nil
	}
	if err != nil {
		return "", err
	}
	if len(done.IDs) == 0 {
		return refusalText(fmt.Errorf("finding `#%d` is gone", f.ID)), nil
	}
	page := fmt.Sprintf("%s/orgs/%s/findings/%d", w.keeper.PublicURL(), tx.Deployment().Slug, f.ID)
	return doneText(f, page, asked, request, p), tx.QueueTelling(ctx, f.ProjectID, w.at.HeadCommit)
}

func refusalText(no error) string {
	if no == nil {
		return ""
	}
	return "Not done: " + no.Error() + ".\n"
}

// doneText says what was decided, by whom.
func doneText(f redoubt.Finding, page string, asked command, r triage.Request, p person) string {
	what := r.State.String()
	switch {
	case r.Assign != nil && *r.Assign == "":
		what = "assigned to nobody"
	case r.Assign != nil:
		what = "assigned to " + plain(*r.Assign, 100)
	case asked.reason != 0:
		what += ", " + strings.ReplaceAll(asked.reason.String(), "_", " ")
	}
	return fmt.Sprintf("Done: finding [`#%d`](%s) is %s, by %s.\n", f.ID, page, what, plain(cmp.Or(p.user, p.actor.Name), 200))
}

// assignee is the user that a command means.
func (w *replying) assignee(name string, p person) (user *string, no error) {
	switch name {
	case assignNone:
		return new(""), nil
	case assignMe:
		if p.user == "" {
			return nil, errors.New("your account is linked to no user of Redoubt, and only those have findings")
		}
		return &p.user, nil
	}
	linked, is := w.connection.People.UserOf(name)
	if !is {
		return nil, fmt.Errorf("%s is linked to no user of Redoubt", code(name, 100))
	}
	return &linked, nil
}

// finding is the one that a command is about: that of our comment which it answers, or one
// that it names, which the change request has.
func (w *replying) finding(ctx context.Context, tx *store.Tx, n scm.Comment, asked command) (f redoubt.Finding, no, err error) {
	lineages := w.threads[n.Thread]
	if n.Thread == "" {
		lineages = nil
	}
	if asked.finding == 0 {
		switch len(lineages) {
		case 0:
			return f, errors.New("say which finding, as `/redoubt " + string(asked.verb) + " #12`, or answer the comment about it"), nil
		case 1:
			f, err = tx.FindingOfLineage(ctx, w.repository.ProjectID, lineages[0])
		default:
			return f, errors.New("there are several findings on the line: say which, as `/redoubt " + string(asked.verb) + " #12`"), nil
		}
		if errors.Is(err, redoubt.ErrNotFound) {
			return f, errors.New("the finding is gone"), nil
		}
		return f, nil, err
	}
	unknown := fmt.Errorf("finding `#%d` is none of this change request", asked.finding)
	list, err := tx.FindingsByID(ctx, []int64{asked.finding})
	if err != nil || len(list) == 0 || list[0].ProjectID != w.repository.ProjectID {
		return f, unknown, err
	}
	f = list[0]
	if len(lineages) > 0 {
		if !slices.Contains(lineages, f.LineageID) {
			return f, errors.New("the comment that you answer is about another finding"), nil
		}
		return f, nil, nil
	}
	ofBranch := !w.at.Fork && f.Ref == "refs/heads/"+w.at.HeadRef // the branch of a fork is another one than ours of that name
	if !ofBranch && numberIn(f.Ref) != w.at.Number {
		return f, unknown, nil
	}
	return f, nil, nil
}
