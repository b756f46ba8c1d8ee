package rulefiles

import (
	"errors"
	"fmt"

	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/model"
)

// maxRounds bounds how often the scanner is run for further faults where
// nothing will be added.
const maxRounds = 20

// Check lets the scanner parse the rules. It reports one bad rule and
// stops, mostly, so the rest is parsed again without that one: all faults are
// reported at once, with those that reading found, or where skip is true left out.
func (s *Set) Check(a *command.App, semgrep string, skip bool) (checked bool, err error) {
	for round := 1; len(s.Rules) > 0; round++ {
		var bad *badRulesError
		if checked, err = checkRules(a, semgrep, s.Rules); !errors.As(err, &bad) {
			break
		}
		if len(bad.why) == 0 {
			err = fmt.Errorf("%w\nIt names no rule: add the files one at a time to find it", err)
			break
		}
		s.withoutBad(bad)
		if round == maxRounds && !skip {
			s.leaveOut("the other rules", "may have faults too: the scanner reports one at a time, and was run %d times",
				round)
			break
		}
		err = nil
	}
	if len(s.Left) > 0 && !skip && a.Ctx.Err() == nil {
		return false, errors.Join(unlessRejected(err), &model.InvalidError{Fields: s.Left})
	}
	return checked, err
}

// unlessRejected drops the error about rules that are reported with their files.
func unlessRejected(err error) error {
	if bad, rejected := errors.AsType[*badRulesError](err); rejected && len(bad.why) > 0 {
		return nil
	}
	return err
}
