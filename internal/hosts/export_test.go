package hosts

// Texts of answers, for tests in package hosts_test.
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

// Resolved reports whether the mark of a comment states that its finding is fixed or ignored.
func Resolved(body string) bool {
	m, found := markOf(body)
	return found && m.settled
}
