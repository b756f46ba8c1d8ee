package rulefiles

import (
	"errors"
	"fmt"

	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/model"
)

// maxRounds limits the runs of the scanner if no rule will be added.
const maxRounds = 20

// Check runs the scanner to parse the rules. The scanner usually stops at the first invalid rule,
// so it runs again without that rule until all faults are known. If skip is true, invalid rules are
// dropped; otherwise Check returns all faults, including those of Read.
func (s *Set) Check(a *command.App, semgrep string, skip bool) (checked bool, err error) {
	for round := 1; len(s.Rules) > 0; round++ {
		var bad *badRulesError
		if checked, err = checkRules(a, semgrep, s.Rules); !errors.As(err, &bad) {
			break
		}
		if len(bad.why) == 0 {
			err = fmt.Errorf("%w\nThe scanner did not identify the rule: add the files one at a time", err)
			break
		}
		s.withoutBad(bad)
		if round == maxRounds && !skip {
			s.leaveOut("the other rules", "may also be invalid: the scanner reports one error at a time, and ran %d times",
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

// unlessRejected drops an error whose rules are reported with their files.
func unlessRejected(err error) error {
	if bad, rejected := errors.AsType[*badRulesError](err); rejected && len(bad.why) > 0 {
		return nil
	}
	return err
}
