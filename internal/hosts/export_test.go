package hosts

// Texts of answers, for tests in package hosts_test.
var (
	ErrOutsider       = errOutsider
	ErrEdited         = errEdited
	ErrTooManyReplies = errTooManyReplies
	ErrLinkedLongAgo  = errLinkedLongAgo
	ErrNotLinked      = errNotLinked
	ErrMayNotDecide   = errMayNotDecide
	ErrDecidedSince   = errDecidedSince
	ErrOtherFinding   = errOtherFinding
	ErrNotOfRequest   = errNotOfRequest
	ErrNoFinding      = errNoFinding
)

const (
	AnswerDone      = answerDone
	AnswerRequested = answerRequested
	AnswerNotDone   = answerNotDone
	OnlyTheFirst    = onlyTheFirst
)

// Resolved reports whether the mark of a comment states that its finding is fixed or ignored.
func Resolved(body string) bool {
	m, found := markOf(body)
	return found && m.resolved
}
