package hosts

// What answers say, for tests: the wording is not theirs.
var (
	ErrStranger       = errStranger
	ErrEdited         = errEdited
	ErrTooManyReplies = errTooManyReplies
	ErrLinkedLongAgo  = errLinkedLongAgo
	ErrNotLinked      = errNotLinked
	ErrMayNotDecide   = errMayNotDecide
	ErrDecidedSince   = errDecidedSince
	ErrOtherFinding   = errOtherFinding
	ErrNotOfRequest   = errNotOfRequest
	ErrSayWhich       = errSayWhich
)

const (
	AnswerDone    = answerDone
	AnswerAsked   = answerAsked
	AnswerNotDone = answerNotDone
	OnlyTheFirst  = onlyTheFirst
)

// Settled reports whether a comment says by its mark that its finding is fixed or ignored.
func Settled(body string) bool {
	m, found := markOf(body)
	return found && m.settled
}
