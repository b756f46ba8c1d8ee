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

// Limits of one change request: commands, people without write access who get a refusal, and the
// time spent on its replies at once.
const (
	maxReplies   = 200
	maxOutsiders = 20
	repliesFor   = time.Minute
)

// stableAfter is the minimum age of a change before it is recorded as read. Hosts report times in
// seconds, so a younger change may be followed by another with the same time.
const stableAfter = time.Minute

// replying processes replies to our comments at one change request. Texts, authors and threads are
// always read from the host, never from a webhook.
type replying struct {
	service    *Service
	host       scm.Host
	deployment int64
	connection model.Connection
	repository model.Repository
	at         model.ChangeRequest

	list      []scm.Comment
	threads   map[string][]int64 // lineages of our comments on lines, by thread
	commented bool               // we wrote a comment there
	replies   map[string]store.ChangeReply
	may       map[string]bool     // write access, by the host's id of the person
	since     time.Time           // time of our first comment, or of the start of the reply policy
	latest    map[int64]time.Time // decision times of commands processed before, by lineage
	decided   int
}

// replies processes new commands in the comments of a change request, in the order of their times.
// It returns the number of processed commands. A failing command does not stop the others. Change
// requests without our comments are ignored.
func (k *Service) replies(
	ctx context.Context, deploymentID int64, c model.Connection, h scm.Host, r model.Repository, at model.ChangeRequest,
) (int, error) {
	if c.Replies == model.RepliesOff || k.Findings == nil {
		return 0, nil
	}
	ctx, cancel := context.WithTimeout(ctx, repliesFor)
	defer cancel()
	w := &replying{
		service:    k,
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
		if err := w.read(ctx); err != nil { // another server may have processed them in the meantime
			return err
		}
		var first error
		for _, n := range w.list {
			if !w.waits(n) {
				continue
			}
			err := w.work(ctx, n)
			if first = cmp.Or(first, err); isBusy(err) || ctx.Err() != nil {
				break
			}
		}
		return first
	})
	return w.decided, err
}

// isBusy reports whether a host asked to wait.
func isBusy(err error) bool {
	_, is := errors.AsType[*model.BusyError](err)
	return is
}

// read loads the comments at the host, the lineages of ours, and the commands processed before.
func (w *replying) read(ctx context.Context) error {
	var written []store.ChangeComment
	w.replies = map[string]store.ChangeReply{}
	err := w.service.Store.View(ctx, w.deployment, func(ctx context.Context, tx *store.Tx) (err error) {
		if written, err = tx.ChangeComments(ctx, w.repository.ID, w.at.Number); err != nil {
			return err
		}
		list, err := tx.ChangeReplies(ctx, w.repository.ID, w.at.Number)
		for _, r := range list {
			w.replies[r.Comment] = r
		}
		return err
	})
	lineages := map[string]int64{}
	for _, n := range written {
		if n.HostID != "" {
			w.commented = true
			lineages[hosted(n).Key()] = n.LineageID
		}
	}
	if err != nil || !w.commented {
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

// decideFrom returns the time from which replies at a connection decide. Earlier comments were not
// meant as commands. Hosts report times in seconds.
func decideFrom(c model.Connection) time.Time { return c.RepliesAt.Truncate(time.Second) }

// waits reports whether a comment contains a command without an answer. It ignores comments of
// programs, including ours, and comments older than our first comment or than the reply policy.
func (w *replying) waits(n scm.Comment) bool {
	if _, isCommand := commandLine(n.Body); !isCommand || n.Bot || n.AuthorID == "" ||
		strings.EqualFold(n.Author, w.connection.Account) || n.At.IsZero() || n.At.Before(w.since) {
		return false
	}
	if r, is := w.replies[n.Key()]; is {
		return !r.Answered
	}
	// seen before, when its author had no write access
	if r, is := w.replies[outsiderKey(n)]; is && r.Answered && !n.At.After(r.At) {
		return false
	}
	return w.count(false) < maxReplies
}

// outsiders is the prefix of the keys of replies by people without write access. Each person has
// one key, regardless of the number of comments, and these do not count as commands.
const outsiders = "stranger:"

func outsiderKey(n scm.Comment) string { return outsiders + n.AuthorID }

// count counts the processed replies of people with or without write access.
func (w *replying) count(ofOutsiders bool) (n int) {
	for key := range w.replies {
		if strings.HasPrefix(key, outsiders) == ofOutsiders {
			n++
		}
	}
	return n
}

// work processes the command of a comment, unless it was processed before, and answers it.
func (w *replying) work(ctx context.Context, n scm.Comment) error {
	r, is := w.replies[n.Key()]
	if !is {
		may, err := w.mayWrite(ctx, n)
		switch {
		case err != nil:
			return err
		case !may:
			return w.rejectOutsider(ctx, n)
		}
		if r, err = w.decideAndStore(ctx, n); err != nil {
			return err
		}
		w.replies[n.Key()] = r
		w.decided++
	}
	return w.answer(ctx, n, r)
}

// rejectOutsider answers once to a person without write access. This bounds the answers and the stored
// rows that such people can cause.
func (w *replying) rejectOutsider(ctx context.Context, n scm.Comment) error {
	r, known := w.replies[outsiderKey(n)]
	if !known && w.count(true) >= maxOutsiders {
		return nil
	}
	if !known {
		r = store.ChangeReply{
			RepositoryID: w.repository.ID, Number: w.at.Number, Comment: outsiderKey(n), Login: n.Author, At: n.At,
			Outcome: refusalText(errOutsider),
		}
	}
	err := w.service.Store.Update(ctx, w.deployment, following, func(ctx context.Context, tx *store.Tx) error {
		if !known {
			if fresh, err := tx.ClaimChangeReply(ctx, r); err != nil || !fresh {
				return err
			}
		}
		r.At = n.At // the newest comment is processed last
		return tx.NoteChangeReply(ctx, r)
	})
	if err != nil {
		return err
	}
	w.replies[r.Comment] = r
	return w.answer(ctx, n, r)
}

// Reasons for refusing a command, as sent in the answer.
var (
	errOutsider       = errors.New("only users with write access to the repository can use commands here")
	errEdited         = errors.New("the comment was edited, possibly by another user: write the command in a new comment")
	errTooManyReplies = fmt.Errorf("the limit of %d commands per change request is reached: use Redoubt instead",
		maxReplies)
	errLinkedLongAgo = errors.New("your account was linked before account ids were stored")
	errNotLinked     = errors.New("your account is not linked to a Redoubt user")
	errMayNotDecide  = errors.New("the Redoubt user linked to your account has no permission for this")
	errDecidedSince  = errors.New(
		"the finding was triaged after this comment was written: review it, then write the command again",
	)
	errOtherFinding = errors.New("this thread is about another finding")
	errNotOfRequest = errors.New("is not part of this change request")
	errNoFinding    = errors.New("missing finding")
)

// errNotThen aborts a transaction in which the person differs from the one read before.
var errNotThen = errors.New("the permissions of the author have changed")

// decideAndStore decides about a command and stores the answer in the same transaction. The person
// is read before the transaction, for the audit log, and again within it.
func (w *replying) decideAndStore(ctx context.Context, n scm.Comment) (r store.ChangeReply, err error) {
	line, _ := commandLine(n.Body)
	cmd, wrong := parseCommand(line)
	if n.Edited {
		wrong = errEdited
	}
	full := w.count(false) == maxReplies-1
	var p person
	var no error
	if err := w.service.Store.View(ctx, w.deployment, func(ctx context.Context, tx *store.Tx) (err error) {
		p, no, err = w.person(ctx, tx, n, cmd.least())
		return err
	}); err != nil {
		return r, err
	}
	r = store.ChangeReply{RepositoryID: w.repository.ID, Number: w.at.Number, Comment: n.Key(), Login: n.Author, At: n.At}
	by := following
	decides := !full && wrong == nil && no == nil && cmd.verb != verbHelp
	if decides {
		by = p.actor
	}
	fresh := false
	err = w.service.Store.Update(ctx, w.deployment, by, func(ctx context.Context, tx *store.Tx) error {
		now, notNow, err := w.person(ctx, tx, n, cmd.least())
		if err != nil {
			return err
		}
		if now != p || (notNow == nil) != (no == nil) {
			return errNotThen
		}
		if fresh, err = tx.ClaimChangeReply(ctx, r); err != nil || !fresh {
			return err
		}
		switch {
		case full:
			r.Outcome = refusalText(errTooManyReplies)
		case wrong != nil:
			r.Outcome = refusalText(wrong) + "\n" + usage
		case cmd.verb == verbHelp:
			r.Outcome = usage
		case no != nil:
			r.Outcome = refusalText(no)
		default:
			if r.Outcome, err = w.decide(ctx, tx, n, cmd, p); err != nil {
				return err
			}
		}
		return tx.NoteChangeReply(ctx, r)
	})
	if err == nil && !fresh { // another server processed it
		r.Answered = true
	}
	return r, err
}

// answer sends the outcome of a command to the host. It searches for an earlier answer by its
// hidden mark, in case the response of the host was lost. A refused answer is retried when the
// change request has news.
func (w *replying) answer(ctx context.Context, n scm.Comment, r store.ChangeReply) error {
	if r.Answered {
		return nil
	}
	mark := replyMark(r.Comment, w.service.origin(w.deployment, w.connection.ID))
	sent := slices.ContainsFunc(w.list, func(c scm.Comment) bool {
		return strings.EqualFold(c.Author, w.connection.Account) && strings.HasSuffix(strings.TrimSpace(c.Body), mark)
	})
	if !sent {
		err := w.host.Reply(ctx, w.repository, w.at, n, strings.TrimSpace(r.Outcome)+"\n"+mark)
		if refused(err) {
			w.service.Logger.WarnContext(ctx, "the host rejected an answer to a command", "connection", w.connection.Name,
				"repository", w.repository.FullName, "change_request", w.at.Number, "cause", err)
			return nil
		}
		if err != nil {
			return err
		}
	}
	r.Answered = true
	w.replies[r.Comment] = r
	return w.service.Store.Update(ctx, w.deployment, following, func(ctx context.Context, tx *store.Tx) error {
		return tx.NoteChangeReply(ctx, r)
	})
}

// pollReplies processes replies at change requests with news since they were read. An error at one
// change request does not stop the others; replies is the first such error.
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
		if isBusy(wrong) {
			return replies, wrong
		}
		if _, busy := errors.AsType[queue.WaitError](wrong); busy { // locked by another writer: the next round retries
			continue
		}
		if wrong != nil {
			k.Logger.WarnContext(ctx, "reading the comments of a change request failed", "connection", c.Name,
				"repository", r.FullName, "change_request", at.Number, "cause", wrong)
			replies = cmp.Or(replies, fmt.Errorf("the comments of change request %d of %s: %w", at.Number, r.FullName, wrong))
		}
		retry := wrong != nil && !errors.Is(wrong, model.ErrTooLarge) // a retry cannot reduce their number
		if retry || k.Clock().Sub(at.UpdatedAt) < stableAfter {       // another comment may have the same time
			continue
		}
		err = k.Store.Update(ctx, deploymentID, following, func(ctx context.Context, tx *store.Tx) error {
			return tx.NoteRepliesRead(ctx, r.ID, at.Number, at.UpdatedAt)
		})
	}
	return replies, err
}
