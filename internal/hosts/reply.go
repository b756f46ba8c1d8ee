package hosts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/queue"
	"github.com/redoubt/redoubt/internal/scm"
	"github.com/redoubt/redoubt/internal/store"
)

// Bounds of one change request: commands of those who may write, others who are told that
// they may not, and how long its replies are worked off at a time.
const (
	maxReplies   = 200
	maxStrangers = 20
	repliesFor   = time.Minute
)

// settledAfter is how old a change must be before nothing more is expected at the time of
// it: hosts tell times in seconds.
const settledAfter = time.Minute

// replying works off what people wrote below our comments at one change request. Whatever
// told us of it, the texts, who wrote them and what they answer is asked of the host.
type replying struct {
	keeper     *Service
	host       scm.Host
	deployment int64
	connection model.Connection
	repository model.Repository
	at         model.ChangeRequest

	list    []scm.Comment
	threads map[string][]int64 // lineages of our comments on lines, by thread
	told    bool               // we wrote something there
	taken   map[string]store.ChangeReply
	may     map[string]bool     // who may write, by the host's id of them
	since   time.Time           // when we wrote there first, or replies began to decide
	latest  map[int64]time.Time // when lineages were decided by what was worked off before
	decided int
}

// replies works off the commands in the comments of a change request that were not worked
// off yet, in the order in which they were written, and returns how many were. One that fails
// holds up no other. Change requests at which we wrote nothing are nothing to us.
func (k *Service) replies(
	ctx context.Context, deploymentID int64, c model.Connection, h scm.Host, r model.Repository, at model.ChangeRequest,
) (int, error) {
	if c.Replies == model.RepliesOff || k.Findings == nil {
		return 0, nil
	}
	ctx, cancel := context.WithTimeout(ctx, repliesFor)
	defer cancel()
	w := &replying{
		keeper:     k,
		host:       h,
		deployment: deploymentID,
		connection: c,
		repository: r,
		at:         at,
		may:        map[string]bool{},
		latest:     map[int64]time.Time{},
	}
	w.at.RepositoryID = r.ID
	if err := w.read(ctx); err != nil || !slices.ContainsFunc(w.list, w.waits) {
		return 0, err
	}
	err := k.alone(ctx, deploymentID, w.at, func(ctx context.Context) error {
		if err := w.read(ctx); err != nil { // somebody else may have been at it meanwhile
			return err
		}
		var first error
		for _, n := range w.list {
			if !w.waits(n) {
				continue
			}
			err := w.work(ctx, n)
			if first = cmp.Or(first, err); asksToWait(err) || ctx.Err() != nil {
				break
			}
		}
		return first
	})
	return w.decided, err
}

// asksToWait reports whether a host wants to be left alone for a while.
func asksToWait(err error) bool {
	_, is := errors.AsType[*model.BusyError](err)
	return is
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
	slices.SortStableFunc(w.list, func(a, b scm.Comment) int { return a.At.Compare(b.At) })
	w.threads, w.since = map[string][]int64{}, time.Time{}
	for _, n := range w.list {
		lineage, ours := lineages[n.Key()]
		if ours && (w.since.IsZero() || n.At.Before(w.since)) {
			w.since = n.At
		}
		if lineage != 0 && n.Thread != "" {
			w.threads[n.Thread] = append(w.threads[n.Thread], lineage)
		}
	}
	w.since = later(w.since, decideFrom(w.connection))
	return nil
}

// decideFrom is the time from which on replies at a connection decide: what somebody wrote
// while they did not was never meant to. Hosts tell times in seconds.
func decideFrom(c model.Connection) time.Time { return c.RepliesAt.Truncate(time.Second) }

// waits reports whether somebody asks for something in a comment, and has no answer yet.
// What programs write counts for nothing, our own texts first, and so does what is older than
// our first comment there, or than the policy by which replies decide.
func (w *replying) waits(n scm.Comment) bool {
	if _, asks := asksFor(n.Body); !asks || n.Bot || n.AuthorID == "" ||
		strings.EqualFold(n.Author, w.connection.Account) || n.At.IsZero() || n.At.Before(w.since) {
		return false
	}
	if r, is := w.taken[n.Key()]; is {
		return !r.Answered
	}
	// it was seen, from who might not write then
	if r, is := w.taken[strangerKey(n)]; is && r.Answered && !n.At.After(r.At) {
		return false
	}
	return w.count(false) < maxReplies
}

// strangers is what the keys of replies begin with by who may not write: there is one of each,
// however much they write, and none of them counts among the commands.
const strangers = "stranger:"

func strangerKey(n scm.Comment) string { return strangers + n.AuthorID }

// count counts what was taken there, of strangers or of who may write.
func (w *replying) count(ofStrangers bool) (n int) {
	for key := range w.taken {
		if strings.HasPrefix(key, strangers) == ofStrangers {
			n++
		}
	}
	return n
}

// work takes what a comment asks for, where nobody took it before, and answers.
func (w *replying) work(ctx context.Context, n scm.Comment) error {
	r, is := w.taken[n.Key()]
	if !is {
		may, err := w.mayWrite(ctx, n)
		switch {
		case err != nil:
			return err
		case !may:
			return w.turnAway(ctx, n)
		}
		if r, err = w.take(ctx, n); err != nil {
			return err
		}
		w.taken[n.Key()] = r
		w.decided++
	}
	return w.answer(ctx, n, r)
}

// turnAway tells who may not write there so, once: nobody makes us talk, or keep much.
func (w *replying) turnAway(ctx context.Context, n scm.Comment) error {
	r, known := w.taken[strangerKey(n)]
	if !known && w.count(true) >= maxStrangers {
		return nil
	}
	if !known {
		r = store.ChangeReply{
			RepositoryID: w.repository.ID, Number: w.at.Number, Comment: strangerKey(n), Login: n.Author, At: n.At,
			Outcome: refusalText(errStranger),
		}
	}
	err := w.keeper.Store.Update(ctx, w.deployment, following, func(ctx context.Context, tx *store.Tx) error {
		if !known {
			if fresh, err := tx.TakeChangeReply(ctx, r); err != nil || !fresh {
				return err
			}
		}
		r.At = n.At // of all, the newest comes last
		return tx.NoteChangeReply(ctx, r)
	})
	if err != nil {
		return err
	}
	w.taken[r.Comment] = r
	return w.answer(ctx, n, r)
}

// Why a command is refused, as the answer says it.
var (
	errStranger = errors.New("only who may write to the repository decides here")
	errEdited   = errors.New("the comment was changed after it was written, and others than its author may have " +
		"done that: write the command again, in a new comment")
	errTooManyReplies = fmt.Errorf("%d commands were written here, and no more are taken. Decide in Redoubt from now on",
		maxReplies)
	errLinkedLongAgo = errors.New("your account was linked before it was kept who has it")
	errNotLinked     = errors.New("your account is linked to no user of Redoubt")
	errMayNotDecide  = errors.New("the user of Redoubt that your account is linked to may not decide about findings")
	errDecidedSince  = errors.New(
		"somebody decided about the finding after this was written: look there, and write the command again",
	)
	errOtherFinding = errors.New("the comment that you answer is about another finding")
	errNotOfRequest = errors.New("is none of this change request")
	errSayWhich     = errors.New("say which finding")
)

// errNotThen ends a transaction in which who decides is another than was read before.
var errNotThen = errors.New("who may decide there has changed")

// take decides about a command, and keeps what is to be answered in the same transaction. Who
// decides is read before it, for the trail, and again in it.
func (w *replying) take(ctx context.Context, n scm.Comment) (r store.ChangeReply, err error) {
	line, _ := asksFor(n.Body)
	asked, wrong := parseCommand(line)
	if n.Edited {
		wrong = errEdited
	}
	full := w.count(false) == maxReplies-1
	var p person
	var no error
	if err := w.keeper.Store.View(ctx, w.deployment, func(ctx context.Context, tx *store.Tx) (err error) {
		p, no, err = w.person(ctx, tx, n, asked.least())
		return err
	}); err != nil {
		return r, err
	}
	r = store.ChangeReply{RepositoryID: w.repository.ID, Number: w.at.Number, Comment: n.Key(), Login: n.Author, At: n.At}
	by := following
	decides := !full && wrong == nil && no == nil && asked.verb != verbHelp
	if decides {
		by = p.actor
	}
	fresh := false
	err = w.keeper.Store.Update(ctx, w.deployment, by, func(ctx context.Context, tx *store.Tx) error {
		now, notNow, err := w.person(ctx, tx, n, asked.least())
		if err != nil {
			return err
		}
		if now != p || (notNow == nil) != (no == nil) {
			return errNotThen
		}
		if fresh, err = tx.TakeChangeReply(ctx, r); err != nil || !fresh {
			return err
		}
		switch {
		case full:
			r.Outcome = refusalText(errTooManyReplies)
		case wrong != nil:
			r.Outcome = refusalText(wrong) + "\n" + usage
		case asked.verb == verbHelp:
			r.Outcome = usage
		case no != nil:
			r.Outcome = refusalText(no)
		default:
			if r.Outcome, err = w.decide(ctx, tx, n, asked, p); err != nil {
				return err
			}
		}
		return tx.NoteChangeReply(ctx, r)
	})
	if err == nil && !fresh { // another server has it
		r.Answered = true
	}
	return r, err
}

// answer tells the host what came of a command. Where an answer was lost before, what is
// there is looked for by a hidden mark. One that the host refuses is tried again when the
// change request has news.
func (w *replying) answer(ctx context.Context, n scm.Comment, r store.ChangeReply) error {
	if r.Answered {
		return nil
	}
	mark := replyMark(r.Comment, w.keeper.origin(w.deployment, w.connection.ID))
	there := slices.ContainsFunc(w.list, func(c scm.Comment) bool {
		return strings.EqualFold(c.Author, w.connection.Account) && strings.HasSuffix(strings.TrimSpace(c.Body), mark)
	})
	if !there {
		err := w.host.Reply(ctx, w.repository, w.at, n, strings.TrimSpace(r.Outcome)+"\n"+mark)
		if refused(err) {
			w.keeper.Logger.WarnContext(ctx, "the host takes no answer to a reply", "connection", w.connection.Name,
				"repository", w.repository.FullName, "change_request", w.at.Number, "cause", err)
			return nil
		}
		if err != nil {
			return err
		}
	}
	r.Answered = true
	w.taken[r.Comment] = r
	return w.keeper.Store.Update(ctx, w.deployment, following, func(ctx context.Context, tx *store.Tx) error {
		return tx.NoteChangeReply(ctx, r)
	})
}

// pollReplies works off the replies at change requests that changed since they were read:
// what no webhook told. What goes wrong at one holds up no other; replies is the first.
func (k *Service) pollReplies(
	ctx context.Context, deploymentID int64, c model.Connection, h scm.Host, r model.Repository,
) (replies, err error) {
	if c.Replies == model.RepliesOff || k.Findings == nil {
		return nil, nil
	}
	var list []model.ChangeRequest
	err = k.Store.View(ctx, deploymentID, func(ctx context.Context, tx *store.Tx) (err error) {
		list, err = tx.ChangesWithNews(ctx, r.ID)
		return err
	})
	for _, at := range list {
		if err != nil || ctx.Err() != nil {
			break
		}
		_, wrong := k.replies(ctx, deploymentID, c, h, r, at)
		if asksToWait(wrong) {
			return replies, wrong
		}
		if _, busy := errors.AsType[queue.WaitError](wrong); busy { // somebody else is at it: the next round looks again
			continue
		}
		if wrong != nil {
			k.Logger.WarnContext(ctx, "replies at a change request cannot be read", "connection", c.Name,
				"repository", r.FullName, "change_request", at.Number, "cause", wrong)
			replies = cmp.Or(replies, fmt.Errorf("the comments of change request %d of %s: %w", at.Number, r.FullName, wrong))
		}
		again := wrong != nil && !errors.Is(wrong, model.ErrTooLarge) // as they are, they are too many
		if again || k.Clock().Sub(at.UpdatedAt) < settledAfter {      // or something may have come right behind
			continue
		}
		err = k.Store.Update(ctx, deploymentID, following, func(ctx context.Context, tx *store.Tx) error {
			return tx.NoteRepliesRead(ctx, r.ID, at.Number, at.UpdatedAt)
		})
	}
	return replies, err
}
