package redoubt

import (
	"strings"
	"time"
	"unicode/utf8"
)

// ExceptionRequestState is how far an exception is that somebody asked for.
type ExceptionRequestState uint8

// States. The numbers are stored: never give one another meaning.
const (
	RequestOpen      ExceptionRequestState = iota + 1 // waits to be decided
	RequestApproved                                   // its findings were ignored
	RequestRefused                                    // Answer says why
	RequestWithdrawn                                  // by who asked
	RequestEnded                                      // none of its findings was open any more
)

var exceptionRequestStates = enumNames[ExceptionRequestState]{"", "open", "approved", "refused", "withdrawn", "ended"}

// String returns the wire name.
func (s ExceptionRequestState) String() string { return exceptionRequestStates.name(s) }

// ParseExceptionRequestState reads a wire name.
func ParseExceptionRequestState(s string) (ExceptionRequestState, bool) {
	return exceptionRequestStates.parse(s)
}

// ExceptionRequest asks that findings of one project are ignored until a day, by somebody
// who may not decide that, or wants another one to (semantics §5).
type ExceptionRequest struct {
	ID           int64
	ProjectID    int64
	State        ExceptionRequestState
	Reason       string       // why they should be, for people
	TriageReason TriageReason // that they would have
	Until        time.Time    // the end that is wished; zero: none
	AskedAt      time.Time
	AskedBy      Actor
	AskerID      int64 // user who asked; 0: no user did
	DecidedAt    time.Time
	DecidedBy    Actor
	Answer       string    // of who decided, for people; empty: nothing was said
	Granted      time.Time // of RequestApproved: when its findings are open again; zero: never
	Lineages     []int64   // what it is about
}

// Bounds of requests for exceptions.
const (
	MaxRequestFindings   = 100 // of one request
	MaxOpenRequestsOfOne = 50  // of one person, here or at a host, or of one token that is no user's
	MaxOpenRequests      = 500 // of a deployment
	MaxDecidedRequests   = 10_000
)

// Check names everything that is wrong with a request that is to be made at a time, but for
// its findings, as a *InvalidError, or returns nil. The reason loses what terminals would obey.
func (r *ExceptionRequest) Check(now time.Time) error {
	var bad InvalidError
	fault := func(err error) {
		if err != nil {
			bad.Fields = append(bad.Fields, err.(*InvalidError).Fields...) //nolint:errorlint // Invalid makes nothing else
		}
	}
	var err error
	if r.Reason, err = requestText("reason", r.Reason, true); err != nil {
		fault(err)
	}
	if r.TriageReason.String() == "" {
		fault(Invalid("triage_reason", "is one of %s", strings.Join(triageReasons[1:], ", ")))
	}
	fault(CheckRequestEnd(r.Until, now))
	if len(bad.Fields) > 0 {
		return &bad
	}
	return nil
}

// RequestEnd reads the last day of an exception that is asked for or granted, as EndOfDay; an
// empty one is no end. Another text is a *InvalidError.
func RequestEnd(day string) (time.Time, error) {
	if day == "" {
		return time.Time{}, nil
	}
	end, ok := EndOfDay(day)
	if !ok {
		return end, Invalid("until", "%.20q is no day: write it as 2027-01-31", day)
	}
	return end, nil
}

// CheckRequestEnd says what is wrong with when an exception that is asked for is to end, as
// a *InvalidError; the zero time is never.
func CheckRequestEnd(until, now time.Time) error {
	if !until.IsZero() && !until.After(now) {
		return Invalid("until", "is over already (in UTC)")
	}
	return nil
}

// RequestAnswer is what somebody says who decides about a request, without what terminals
// would obey. Who refuses one has to say why.
func RequestAnswer(text string, needed bool) (string, error) {
	return requestText("answer", text, needed)
}

func requestText(location, said string, needed bool) (string, error) {
	text := strings.TrimSpace(Note(said))
	n := utf8.RuneCountInString(text)
	if needed && n == 0 || n > MaxNote || !utf8.ValidString(said) || strings.ContainsRune(said, 0) {
		return text, Invalid(location, "say why, in 1 to %d characters", MaxNote)
	}
	return text, nil
}
