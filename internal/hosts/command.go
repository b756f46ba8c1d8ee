package hosts

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// command is a parsed command of a comment.
type command struct {
	verb     verb
	finding  int64 // id of the finding; 0: that of the comment being answered
	reason   model.TriageReason
	note     string
	assignee string    // login at the host, assignMe or assignNone
	until    time.Time // requested end of an exception; zero: none
}

// verb is the action of a command.
type verb string

// Verbs of commands.
const (
	verbIgnore    verb = "ignore"
	verbReopen    verb = "reopen"
	verbReview    verb = "reviewing"
	verbFix       verb = "fixing"
	verbAssign    verb = "assign"
	verbException verb = "exception"
	verbHelp      verb = "help"
	assignMe           = "me"
	assignNone         = "nobody"
	commandName        = "/redoubt"
)

// states maps verbs to the triage states that they set.
var states = map[verb]model.TriageState{
	verbIgnore: model.TriageIgnored, verbReopen: model.TriageReopened,
	verbReview: model.TriageReviewing, verbFix: model.TriageFixing,
}

// least returns the role that a command requires. Viewers may request exceptions.
func (c command) least() model.Role {
	if c.verb == verbException {
		return model.RoleViewer
	}
	return model.RoleTriager
}

// usage is the reply to help and to invalid commands.
const usage = "Start a comment with one of these commands. Outside a finding's thread, add the finding after the " +
	"verb, as in `/redoubt reopen #12`.\n\n" +
	"- `/redoubt ignore false_positive: why` (or `acceptable_risk`, `no_time`)\n" +
	"- `/redoubt reopen`, `/redoubt reviewing`, `/redoubt fixing`\n" +
	"- `/redoubt assign @me`, `@login` or `@" + assignNone + "`\n" +
	"- `/redoubt exception until 2027-01-31: why` requests an exception, pending approval\n"

// commandLine returns the command line of a comment: its first line outside of quotes. A line directly
// after a quoted one belongs to the quote, as in Markdown. ok is false if that line is no command.
func commandLine(body string) (line string, ok bool) {
	quoted := false
	for text := range strings.SplitSeq(strings.ReplaceAll(body, "\r\n", "\n"), "\n") {
		trimmed := strings.TrimSpace(text)
		switch {
		case trimmed == "":
			quoted = false
		case quoted:
		case strings.HasPrefix(trimmed, ">"):
			quoted = true
		case strings.HasPrefix(text, "    "), strings.HasPrefix(text, "\t"): // code
			return "", false
		default:
			name, _, _ := strings.Cut(trimmed, " ")
			return trimmed, name == commandName
		}
	}
	return "", false
}

// commandsIn counts the lines of a comment that look like commands.
func commandsIn(body string) (n int) {
	for text := range strings.Lines(body) {
		if name, _, _ := strings.Cut(strings.TrimSpace(text), " "); name == commandName {
			n++
		}
	}
	return n
}

var namedFinding = regexp.MustCompile(`^#?([0-9]{1,18})$`)

// parseCommand parses a line that commandLine returned. The text of its errors is sent to the author.
func parseCommand(line string) (c command, err error) {
	words := strings.Fields(model.Line(line))[1:]
	if len(words) == 0 {
		return command{verb: verbHelp}, nil
	}
	c.verb = verb(strings.ToLower(words[0]))
	words = words[1:]
	if len(words) > 0 && c.verb != verbHelp {
		if named := namedFinding.FindStringSubmatch(words[0]); named != nil {
			c.finding, _ = strconv.ParseInt(named[1], 10, 64) // only digits, by the pattern
			words = words[1:]
		}
	}
	switch c.verb {
	case verbHelp:
	case verbAssign:
		if len(words) != 1 || strings.Trim(words[0], "@") == "" {
			return c, errors.New("missing assignee: write `/redoubt assign @me`")
		}
		c.assignee = strings.ToLower(strings.TrimPrefix(words[0], "@"))
	case verbIgnore:
		words, err = c.parseReason(words)
		c.note = strings.Join(words, " ")
	case verbException:
		words, err = c.parseEnd(words)
		if c.note = strings.Join(words, " "); err == nil && c.note == "" {
			err = errors.New("missing justification: write `/redoubt exception until 2027-01-31: only our tests call it`")
		}
	case verbReopen, verbReview, verbFix:
		c.note = strings.Join(words, " ")
	default:
		return c, fmt.Errorf("unknown command %s", code(string(c.verb), 40))
	}
	return c, err
}

// parseEnd parses an optional leading "until DATE" and returns the remaining words.
func (c *command) parseEnd(words []string) ([]string, error) {
	if len(words) == 0 || !strings.EqualFold(words[0], "until") {
		return words, nil
	}
	if len(words) < 2 {
		return words, errors.New("missing expiry date: write `/redoubt exception until 2027-01-31: why`")
	}
	day := strings.TrimSuffix(words[1], ":")
	until, ok := model.EndOfDay(day)
	if !ok {
		return words, fmt.Errorf("invalid date %s: use `YYYY-MM-DD`", code(day, 40))
	}
	c.until = until
	return words[2:], nil
}

// parseReason parses an optional leading triage reason and returns the remaining words.
func (c *command) parseReason(words []string) ([]string, error) {
	if len(words) == 0 {
		return words, nil
	}
	name, ends := strings.CutSuffix(words[0], ":")
	reason, is := model.ParseTriageReason(strings.ReplaceAll(strings.ToLower(name), "-", "_"))
	switch {
	case is && reason != model.NoTriageReason:
		c.reason = reason
		return words[1:], nil
	case ends:
		return words, fmt.Errorf("invalid reason %s: use `false_positive`, `acceptable_risk` or `no_time`",
			code(name, 40))
	}
	return words, nil
}
