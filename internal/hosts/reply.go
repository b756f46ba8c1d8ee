package hosts

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/job"
	"github.com/redoubt/redoubt/internal/scm"
	"github.com/redoubt/redoubt/internal/store"
)

// maxReplies is how many commands of one change request are ever taken.
const maxReplies = 200

// settledAfter is how old a change must be before nothing more is expected at the time of
// it: hosts tell times in seconds.
const settledAfter = time.Minute

// replying works off what people wrote below our comments at one change request. Whatever
// told us of it, the texts, who wrote them and what they answer is asked of the host.
type replying struct {
	keeper     *Keeper
	host       scm.Host
	deployment int64
	connection redoubt.Connection
	repository redoubt.Repository
	at         redoubt.ChangeRequest

	list    []scm.Comment
	threads map[string][]int64 // lineages of our comments on lines, by thread
	told    bool               // we wrote something there
	taken   map[string]store.ChangeReply
	may     map[string]scm.Permission // by login
	decided int
}

// replies works off the commands in the comments of a change request that were not worked
// off yet, and returns how many were. Those on change requests at which we wrote nothing
// are nothing to us.
func (k *Keeper) replies(ctx context.Context, deploymentID int64, c redoubt.Connection, h scm.Host, r redoubt.Repository, at redoubt.ChangeRequest) (int, error) {
	if c.Replies == redoubt.RepliesOff || k.Findings == nil {
		return 0, nil
	}
	w := &replying{keeper: k, host: h, deployment: deploymentID, connection: c, repository: r, at: at, may: map[string]scm.Permission{}}
	w.at.RepositoryID = r.ID
	if err := w.read(ctx); err != nil || !slices.ContainsFunc(w.list, w.waits) {
		return 0, err
	}
	err := k.alone(ctx, deploymentID, w.at, func() error {
		err := w.read(ctx) // somebody else may have been at it meanwhile
		for _, n := range w.list {
			if err == nil && w.waits(n) {
				err = w.work(ctx, n)
			}
		}
		return err
	})
	return w.decided, err
}

// read finds what is there, what of it is ours, and what was taken before.
func (w *replying) read(ctx context.Context) error {
	var written []store.ChangeComment
	w.taken = map[string]store.ChangeReply{}
	err := w.keeper.Store.View(ctx, w.deployment, func(ctx context.Context, tx *store.Tx) (err error) {
		if written, err = tx.ChangeComments(ctx, w.repository.ID, w.at.Number); err != nil {
			return err
		}
		list, err := tx.ChangeReplies(ctx, w.repository.ID, w.at.Number)
		for _, r := range list {
			w.taken[r.Comment] = r
		}
		return err
	})
	lineages := map[string]int64{}
	for _, n := range written {
		if n.HostID != "" {
			w.told = true
			lineages[hosted(n).Key()] = n.LineageID
		}
	}
	if err != nil || !w.told {
		return err
	}
	if w.list, err = w.host.Comments(ctx, w.repository, w.at.Number); err != nil {
		return err
	}
	w.threads = map[string][]int64{}
	for _, n := range w.list {
		if lineage := lineages[n.Key()]; lineage != 0 && n.Thread != "" {
			w.threads[n.Thread] = append(w.threads[n.Thread], lineage)
		}
	}
	return nil
}

// waits reports whether somebody asks for something in a comment, and has no answer yet.
// What programs write counts for nothing, our own texts first.
func (w *replying) waits(n scm.Comment) bool {
	if _, asks := asksFor(n.Body); !asks || n.Bot || n.Author == "" || strings.EqualFold(n.Author, w.connection.Account) {
		return false
	}
	r, is := w.taken[n.Key()]
	return is && !r.Answered || !is && len(w.taken) < maxReplies
}

// work takes what a comment asks for, where nobody took it before, and answers.
func (w *replying) work(ctx context.Context, n scm.Comment) error {
	r, is := w.taken[n.Key()]
	if !is {
		line, _ := asksFor(n.Body)
		var err error
		if r, err = w.take(ctx, n, line); err != nil {
			return err
		}
		w.taken[n.Key()] = r
		w.decided++
	}
	return w.answer(ctx, n, r)
}

// take decides about a command, and keeps what is to be answered in the same transaction.
func (w *replying) take(ctx context.Context, n scm.Comment, line string) (store.ChangeReply, error) {
	r := store.ChangeReply{RepositoryID: w.repository.ID, Number: w.at.Number, Comment: n.Key(), Login: n.Author}
	asked, refusal := parseCommand(line)
	if n.Edited {
		refusal = errors.New("the comment was edited, and others than its author may do that: write another one")
	}
	stranger, err := w.stranger(ctx, n.Author)
	if err != nil {
		return r, err
	}
	by := following
	var p person
	if refusal == nil && stranger == "" && asked.verb != verbHelp {
		if p, refusal, err = w.person(ctx, n.Author); err != nil {
			return r, err
		}
		by = p.actor
	}
	if refusal != nil {
		by = following
	}
	fresh := false
	err = w.keeper.Store.Update(ctx, w.deployment, by, func(ctx context.Context, tx *store.Tx) error {
		if fresh, err = tx.TakeChangeReply(ctx, r); err != nil || !fresh {
			return err
		}
		switch {
		case stranger != "": // who may not write there is told once, so that nobody makes us talk
			if !w.spoke(n.Author) {
				r.Outcome = stranger
			}
		case refusal != nil:
			r.Outcome = "Not done: " + refusal.Error() + ".\n\n" + usage
		case asked.verb == verbHelp:
			r.Outcome = usage
		default:
			if r.Outcome, err = w.decide(ctx, tx, n, asked, p); err != nil {
				return err
			}
		}
		r.Answered = r.Outcome == ""
		return tx.NoteChangeReply(ctx, r)
	})
	if err == nil && !fresh { // another server has it
		r.Answered = true
	}
	return r, err
}

// spoke reports whether somebody was answered there before.
func (w *replying) spoke(login string) bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(w.taken)), func(r store.ChangeReply) bool { return strings.EqualFold(r.Login, login) })
}

// answer tells the host what came of a command. Where an answer was lost before, what is
// there is looked for by a hidden mark.
func (w *replying) answer(ctx context.Context, n scm.Comment, r store.ChangeReply) error {
	if r.Answered {
		return nil
	}
	mark := "<!-- redoubt:reply:" + n.Key() + " -->"
	there := slices.ContainsFunc(w.list, func(c scm.Comment) bool {
		return strings.EqualFold(c.Author, w.connection.Account) && strings.HasSuffix(strings.TrimSpace(c.Body), mark)
	})
	if !there {
		if err := w.host.Reply(ctx, w.repository, w.at, n, strings.TrimSpace(r.Outcome)+"\n"+mark); err != nil && !refused(err) {
			return err
		}
	}
	r.Answered = true
	w.taken[n.Key()] = r
	return w.keeper.Store.Update(ctx, w.deployment, following, func(ctx context.Context, tx *store.Tx) error { return tx.NoteChangeReply(ctx, r) })
}

// pollReplies works off the replies at change requests that changed since they were read:
// what no webhook told.
func (k *Keeper) pollReplies(ctx context.Context, deploymentID int64, c redoubt.Connection, h scm.Host, r redoubt.Repository) error {
	if c.Replies == redoubt.RepliesOff || k.Findings == nil {
		return nil
	}
	var list []redoubt.ChangeRequest
	err := k.Store.View(ctx, deploymentID, func(ctx context.Context, tx *store.Tx) (err error) {
		list, err = tx.ChangesWithNews(ctx, r.ID)
		return err
	})
	for _, at := range list {
		if err != nil {
			return err
		}
		_, err = k.replies(ctx, deploymentID, c, h, r, at)
		if _, busy := errors.AsType[job.WaitError](err); busy { // somebody else is at it: the next round looks again
			err = nil
			continue
		}
		if err != nil {
			return fmt.Errorf("the comments of change request %d: %w", at.Number, err)
		}
		if k.Clock().Sub(at.UpdatedAt) < settledAfter { // something may have come right behind
			continue
		}
		err = k.Store.Update(ctx, deploymentID, following, func(ctx context.Context, tx *store.Tx) error {
			return tx.NoteRepliesRead(ctx, r.ID, at.Number, at.UpdatedAt)
		})
	}
	return err
}
