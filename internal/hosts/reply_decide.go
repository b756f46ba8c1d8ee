package hosts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/exceptions"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/scm"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/triage"
)

// person is the author of a command, as a user or as a collaborator at the host.
type person struct {
	actor model.Actor
	user  string // empty: the account is not linked
	id    int64  // of the user
}

// mayWrite queries the host whether the author of a comment has write access. It compares the ids,
// because the login may belong to another person now. If our account may not query permissions, it
// returns an error and no command is processed: an administrator must grant the permission.
func (w *replying) mayWrite(ctx context.Context, n scm.Comment) (bool, error) {
	may, known := w.may[n.AuthorID]
	if known {
		return may, nil
	}
	found, of, err := w.host.Permission(ctx, w.repository, n.Author)
	switch {
	case errors.Is(err, model.ErrNotFound):
	case refused(err):
		return false, fmt.Errorf("the account of the connection cannot read the permissions of %s: make it an "+
			"administrator of the repository: %w", w.repository.FullName, err)
	case err != nil:
		return false, err
	default:
		may = found >= scm.MayWrite && of.ID == n.AuthorID
	}
	w.may[n.AuthorID] = may
	return may, nil
}

// person returns the user or collaborator behind a comment, as of the transaction. The error no is
// the reason for a refusal, such as a missing role.
func (w *replying) person(
	ctx context.Context, tx *store.Tx, n scm.Comment, least model.Role,
) (p person, no, err error) {
	c, err := tx.Connection(ctx, w.connection.ID)
	if err != nil {
		return p, nil, err
	}
	if c.Replies == model.RepliesOff || n.At.Before(decideFrom(c)) {
		return p, nil, errNotThen
	}
	via := fmt.Sprintf("%s at %s#%d", model.Line(n.Author), w.repository.FullName, w.at.Number)
	found, linked := c.People.PersonOf(n.Author, n.AuthorID)
	if linked && found.ID == "" { // the login may belong to another person now
		return p, fmt.Errorf("%w. An administrator must link it again in Settings → Connections → %s: remove the link, "+
			"save, and add it", errLinkedLongAgo, plain(c.Name, 100)), nil
	}
	if !linked {
		if c.Replies != model.RepliesCollaborators {
			return p, fmt.Errorf("%w. An administrator can link it in Settings → Connections → %s",
				errNotLinked, plain(c.Name, 100)), nil
		}
		return person{actor: model.Actor{
			Kind: "collaborator",
			ID:   fmt.Sprintf("%d:%s", c.ID, n.AuthorID),
			Name: model.Line(n.Author) + " at " + store.HostKey(c.BaseURL),
			Via:  via,
		}}, nil, nil
	}
	m, err := tx.Member(ctx, found.User)
	switch {
	case errors.Is(err, model.ErrNotFound) || err == nil && (!m.Enabled() || m.Role < least):
		return p, errMayNotDecide, nil
	case err != nil:
		return p, nil, err
	}
	p = person{actor: m.Actor(), user: m.Name, id: m.ID}
	p.actor.Via = via
	return p, nil, nil
}

// decide executes a command and returns the text of the answer.
func (w *replying) decide(ctx context.Context, tx *store.Tx, n scm.Comment, cmd command, p person) (string, error) {
	f, no, err := w.finding(ctx, tx, n, cmd)
	if err != nil || no != nil {
		return refusalText(no), err
	}
	if cmd.verb == verbException {
		return w.requestException(ctx, tx, n, cmd, p, f)
	}
	if no, err = w.late(ctx, tx, f, n); err != nil || no != nil {
		return refusalText(no), err
	}
	request := triage.Request{
		Filter: model.FindingFilter{IssueType: f.IssueType, HasIDs: true, IDs: []int64{f.ID}},
		State:  states[cmd.verb], Reason: cmd.reason,
	}
	if cmd.verb == verbAssign {
		if request.Assign, no = w.assignee(cmd.assignee, p); no != nil {
			return refusalText(no), nil
		}
	} else {
		request.Note = cmd.note
	}
	view, err := w.service.Findings(ctx, w.deployment)
	if err != nil {
		return "", err
	}
	done, err := triage.Apply(ctx, tx, view, request)
	if bad, is := errors.AsType[*model.InvalidError](err); is {
		return refusalText(errors.New(plain(bad.Error(), 500))), nil
	}
	if err != nil {
		return "", err
	}
	if len(done.IDs) == 0 {
		return refusalText(fmt.Errorf("finding `#%d` no longer exists", f.ID)), nil
	}
	w.latest[f.LineageID] = tx.Now()
	reason, assignee := "", ""
	if cmd.reason != 0 {
		reason = cmd.reason.String()
	}
	if request.Assign != nil {
		assignee = *request.Assign
	}
	tx.AuditReply(store.ChangeReply{Number: w.at.Number, Comment: n.Key(), Login: model.Line(n.Author)}, f.ID,
		string(cmd.verb), reason, assignee)
	text := doneText(f, w.page(tx, "findings", f.ID), cmd, request, n)
	return text, tx.EnqueueStatusUpdate(ctx, f.ProjectID, w.at.HeadCommit)
}

// page returns the URL of an object of this deployment.
func (w *replying) page(tx *store.Tx, what string, id int64) string {
	return fmt.Sprintf("%s/orgs/%s/%s/%d", w.service.PublicURL(), tx.Deployment().Slug, what, id)
}

// requestException requests an exception for a finding, like the pages do, and returns the answer with its link.
func (w *replying) requestException(
	ctx context.Context, tx *store.Tx, n scm.Comment, cmd command, p person, f model.Finding,
) (string, error) {
	r, err := exceptions.Request(ctx, tx, model.Exception{
		Reason:       cmd.note,
		TriageReason: model.AcceptableRisk,
		Until:        cmd.until,
		CreatorID:    p.id,
	}, []model.Finding{f})
	if bad, is := errors.AsType[*model.InvalidError](err); is {
		return refusalText(errors.New(plain(bad.Error(), 500))), nil
	}
	if errors.Is(err, model.ErrConflict) {
		return refusalText(errors.New(plain(strings.TrimSuffix(err.Error(), ": "+model.ErrConflict.Error()), 500))), nil
	}
	if err != nil {
		return "", err
	}
	tx.AuditReply(store.ChangeReply{Number: w.at.Number, Comment: n.Key(), Login: model.Line(n.Author)}, f.ID,
		string(cmd.verb), "", "")
	until := "without expiry"
	if day := model.LastDay(r.Until); day != "" {
		until = "until " + day
	}
	return fmt.Sprintf(answerRequested+"an exception for finding [`#%d`](%s) %s, by %s. Nothing has changed yet: "+
		"[exception %d](%s) is pending.\n%s",
		f.ID, w.page(tx, "findings", f.ID), until, plain(n.Author, 200), r.ID, w.page(tx, "exceptions", r.ID),
		moreCommands(n)), nil
}

// late rejects a command that was written before a decision elsewhere: its author did not know of
// that decision.
func (w *replying) late(ctx context.Context, tx *store.Tx, f model.Finding, n scm.Comment) (no, err error) {
	found, err := tx.Lineages(ctx, []int64{f.LineageID})
	if at := found[f.LineageID].Triage.At; at.After(n.At) && !at.Equal(w.latest[f.LineageID]) {
		no = errDecidedSince
	}
	return no, err
}

// Beginnings of answers to commands.
const (
	answerDone      = "Done: "
	answerRequested = "Requested: "
	answerNotDone   = "Not done: "
	onlyTheFirst    = "\nOnly the first command of a comment is run: write one command per comment.\n"
)

func refusalText(no error) string {
	if no == nil {
		return ""
	}
	return answerNotDone + no.Error() + ".\n"
}

// doneText describes a decision using the names of the host: user names of this server must not
// appear there.
func doneText(f model.Finding, page string, cmd command, r triage.Request, n scm.Comment) string {
	what := r.State.String()
	switch {
	case r.Assign != nil && *r.Assign == "":
		what = "unassigned"
	case cmd.assignee == assignMe:
		what = "assigned to " + plain(n.Author, 100)
	case r.Assign != nil:
		what = "assigned to " + plain(cmd.assignee, 100)
	case cmd.reason != 0:
		what += ", " + strings.ReplaceAll(cmd.reason.String(), "_", " ")
	}
	text := fmt.Sprintf(answerDone+"finding [`#%d`](%s) is %s, by %s.\n", f.ID, page, what, plain(n.Author, 200))
	return text + moreCommands(n)
}

// moreCommands returns a note if a comment contains further commands, which are ignored.
func moreCommands(n scm.Comment) string {
	if commandsIn(n.Body) > 1 {
		return onlyTheFirst
	}
	return ""
}

// assignee returns the user that a command names.
func (w *replying) assignee(name string, p person) (user *string, no error) {
	switch name {
	case assignNone:
		return new(""), nil
	case assignMe:
		if p.user == "" {
			return nil, fmt.Errorf("%w, so no findings can be assigned to it", errNotLinked)
		}
		return &p.user, nil
	}
	linked, is := w.connection.People.UserOf(name)
	if !is {
		return nil, fmt.Errorf("%s is not linked to a Redoubt user", code(name, 100))
	}
	return &linked, nil
}

// finding returns the finding of a command: that of the answered comment, or a named one of the
// change request.
func (w *replying) finding(
	ctx context.Context, tx *store.Tx, n scm.Comment, cmd command,
) (f model.Finding, no, err error) {
	lineages := w.threads[n.Thread]
	if n.Thread == "" {
		lineages = nil
	}
	if cmd.finding == 0 {
		switch len(lineages) {
		case 0:
			return f, fmt.Errorf("%w: write `/redoubt %s #12`, or reply to the finding's comment", errNoFinding, cmd.verb), nil
		case 1:
			f, err = tx.FindingOfLineage(ctx, w.repository.ProjectID, lineages[0])
		default:
			return f, errors.New(
				"the line has several findings: name one, as in `/redoubt " + string(cmd.verb) + " #12`",
			), nil
		}
		if errors.Is(err, model.ErrNotFound) {
			return f, errors.New("the finding no longer exists"), nil
		}
		return f, nil, err
	}
	unknown := fmt.Errorf("finding `#%d` %w", cmd.finding, errNotOfRequest)
	list, err := tx.FindingsByID(ctx, []int64{cmd.finding})
	if err != nil || len(list) == 0 || list[0].ProjectID != w.repository.ProjectID {
		return f, unknown, err
	}
	f = list[0]
	if len(lineages) > 0 {
		if !slices.Contains(lineages, f.LineageID) {
			return f, errOtherFinding, nil
		}
		return f, nil, nil
	}
	// the branch of a fork is not our branch of that name
	ofBranch := !w.at.Fork && f.Ref == "refs/heads/"+w.at.HeadRef
	if !ofBranch && numberIn(f.Ref) != w.at.Number {
		return f, unknown, nil
	}
	return f, nil, nil
}
