package storetest

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// Noise is the slug of the second tenant. Its rows have the same names as those in tests.
const Noise = "noise"

// noises write the rows of the noisy tenant, each in a separate transaction. Later ones depend on
// rows of earlier ones.
var noises = []func(context.Context, *store.Tx) error{
	noisyTokens,
	noisyProjects,
	noisyJobs,
	noisyFindings,
	noisyDependencies,
	noisyAgent,
	noisyUser,
	noisyException,
	noisyVEX,
	noisyConnection,
	noisyTicket,
	noisyNotification,
	noisyView,
	noisyRequest,
	noisyRuns,
	noisyComment,
}

func makeNoise(ctx context.Context, s *store.Store) error {
	by := model.Actor{Kind: "cli", Name: "noise"}
	d, err := s.CreateDeployment(ctx, Noise, "Noise", by)
	if err != nil {
		return err
	}
	for _, noise := range noises {
		if err := s.Update(ctx, d.ID, by, noise); err != nil {
			return err
		}
	}
	if _, _, err := s.ClaimAdvisoryMatch(ctx, d.ID, 0); err != nil {
		return err
	}
	if err := s.RecordCheckpoint(ctx, d.ID, "noise", 1, nil); err != nil {
		return err
	}
	if err := noisyRunLog(ctx, s, d); err != nil {
		return err
	}
	return noisyScanners(ctx, s, d)
}

// ProjectNames are the names of the noisy projects, which tests use, too.
var ProjectNames = []string{"acme/payments", "acme/web-shop", "group/sub/repo"}

// TokenHash returns the hash of a token's secret in the noise.
func TokenHash(secret string) []byte {
	hash := sha256.Sum256([]byte(secret))
	return hash[:]
}

// NoisyCode is the code of the noisy tenant's OAuth grant.
const NoisyCode = "noisy code"

func noisyTokens(ctx context.Context, tx *store.Tx) error {
	for _, name := range []string{"ci", "web"} {
		_, err := tx.CreateToken(ctx, model.Token{
			PublicID: "public-" + name,
			Name:     name,
			Scopes:   []model.Scope{model.ScopeWebAPI},
		}, TokenHash(name))
		if err != nil {
			return err
		}
	}
	grant := model.OAuthGrant{
		CodeHash:    TokenHash(NoisyCode),
		ClientHash:  TokenHash("client"),
		RefreshHash: TokenHash("refresh"),
		Generation:  1,
	}
	err := tx.AddOAuthGrant(ctx, grant)
	if err == nil {
		var t model.Token
		t, err = tx.Token(ctx, "public-ci")
		grant.TokenID, grant.ExpiresAt = t.ID, tx.Now().Add(model.OAuthRefreshFor)
	}
	if err == nil {
		err = tx.RenewOAuthGrant(ctx, grant)
	}
	return err
}

// noisyProjects creates projects with scans in every status, with common refs, sources and commits.
func noisyProjects(ctx context.Context, tx *store.Tx) error {
	for i, name := range ProjectNames {
		p, err := tx.CreateProject(ctx, model.Project{
			Name: "old/" + name, URL: "https://git.example/" + name, Tags: []string{"team-a", "noise"}, RepoID: fmt.Sprint("repo-", i+1),
		})
		if err != nil {
			return err
		}
		if p, err = tx.RenameProject(ctx, p.ID, name); err != nil {
			return err
		}
		for j := range 6 {
			if err := noisyScan(ctx, tx, p.ID, j); err != nil {
				return err
			}
		}
	}
	return nil
}

func noisyScan(ctx context.Context, tx *store.Tx, projectID int64, j int) error {
	s := model.Scan{
		ProjectID: projectID, Ref: "refs/heads/main", Commit: fmt.Sprint("commit-", j/2), Source: "semgrep",
		StartedAt: Epoch.Add(time.Duration(j-3) * time.Hour), Full: j%2 == 0,
		Products: model.Products(0).With(model.SAST).With(model.SCA).With(model.Secrets),
		Status:   model.ScanStatus(j%3 + 1), Outcome: model.ScanApplied, TotalTime: time.Duration(j) * time.Second,
		Counts: model.FindingCounts{Code: j, Secrets: j, SupplyChain: j},
	}
	if s.Status != model.ScanRunning {
		s.CompletedAt = s.StartedAt.Add(time.Minute)
	}
	id, err := tx.AddScan(ctx, s)
	if err != nil {
		return err
	}
	if err := tx.PutScanAccount(ctx, model.ScanAccount{
		ScanID:   id,
		Reported: []int64{1, 2, 3},
		Gaps:     []model.ScanGap{{Kind: model.GapPath, What: "noise"}},
	}); err != nil {
		return err
	}
	if err := tx.PutScanGate(ctx, id, &model.ScanGate{Reason: "noise"}); err != nil {
		return err
	}
	return tx.ScanApplied(ctx, projectID, s.Ref, s.Full, s.StartedAt)
}

// noisyAgent creates a served rule and a running scan with common names.
func noisyAgent(ctx context.Context, tx *store.Tx) error {
	rule := model.Rule{Name: "served", IssueType: model.SAST, Severity: model.SeverityHigh}
	if _, err := tx.ServeRule(ctx, store.Serving{
		Rule:    rule,
		Text:    []byte(`{"id":"served"}`),
		Checked: true,
		Mode:    model.ModeBlock,
	}); err != nil {
		return err
	}
	if err := tx.PutSecretRules(ctx, []model.SecretRule{{Tool: "semgrep", Name: "rule-2"}}); err != nil {
		return err
	}
	return tx.AddAgentScan(ctx, model.AgentScan{UniqueID: "agent-scan", ScanID: 1, Begun: []byte(`{}`)})
}

// noisyScanners creates an approved login that was not fetched, an unapproved login, and a failed
// attempt with a common run name.
func noisyScanners(ctx context.Context, s *store.Store, d model.Deployment) error {
	for _, code := range []string{"NOIS-EEEE", "WAIT-WAIT"} {
		if _, err := s.AddLogin(ctx, model.LoginRequest{
			KeyHash: TokenHash(code),
			Code:    code,
			Address: "192.0.2.1",
		}); err != nil {
			return err
		}
	}
	err := s.Update(ctx, d.ID, model.Actor{Kind: "cli", Name: "noise"}, func(ctx context.Context, tx *store.Tx) error {
		waiting, err := tx.WaitingLogin(ctx, "NOIS-EEEE")
		if err != nil {
			return err
		}
		return tx.ApproveLogin(ctx, waiting, model.Token{Name: "noise", Scopes: []model.Scope{model.ScopeCI}})
	})
	if err != nil {
		return err
	}
	return s.AddFailedAttempt(ctx, model.FailedAttempt{
		DeploymentID: d.ID,
		Name:         "agent-scan",
		Step:         model.FailedScan,
		Cause:        "noise",
	})
}

// noisyException would match the findings of every test.
func noisyException(ctx context.Context, tx *store.Tx) error {
	_, err := tx.AddException(ctx, model.Exception{
		State:        model.ExceptionActive,
		Target:       "rule-1",
		Reason:       "noise",
		TriageReason: model.AcceptableRisk,
	})
	if err != nil {
		return err
	}
	return tx.SaveExceptionMark(ctx, model.ExceptionMark{At: tx.Now()})
}

func noisyJobs(ctx context.Context, tx *store.Tx) error {
	if _, err := tx.AddJob(ctx, model.Job{
		Kind:  "noise",
		Token: "job-token",
		Input: []byte(`{"noise":true}`),
	}); err != nil {
		return err
	}
	return tx.StoreAnswer(ctx, model.StoredAnswer{Key: "key", Request: []byte("noise"), Answer: []byte("noise")})
}

// NoisyUser is the name of the noisy tenant's admin.
const NoisyUser = "noisy"

func noisyUser(ctx context.Context, tx *store.Tx) error {
	if _, err := tx.CreateUser(ctx, model.User{Name: NoisyUser}, model.RoleAdmin); err != nil {
		return err
	}
	_, err := tx.Invite(ctx, model.UserInvitation{
		Name: "guest", NewName: "guest@" + Noise, Role: model.RoleViewer,
		InvitedBy: NoisyUser, ExpiresAt: tx.Now().AddDate(1, 0, 0),
	}, TokenHash("noisy invitation"))
	return err
}

// noisyVEX would match all findings in dependencies.
func noisyVEX(ctx context.Context, tx *store.Tx) error {
	if err := tx.RefuseVEX(ctx, model.VEXDocument{ProjectID: 1}, []string{"noise"}); err != nil {
		return err
	}
	_, err := tx.SaveVEX(ctx, model.VEXDocument{
		Name:       "urn:noise",
		Format:     "OpenVEX",
		ReceivedAt: tx.Now(),
		Statements: []model.VEXStatement{
			{Names: []string{"CVE-2021-44228", "CVE-2021-0001"}, Status: model.VEXNotAffected},
		},
	}, model.VEXDocument{})
	return err
}

// noisyConnection creates a connection with the same repository ids as in tests.
func noisyConnection(ctx context.Context, tx *store.Tx) error {
	c, err := tx.AddConnection(ctx, model.Connection{Kind: model.HostGitea, Name: "gitea", BaseURL: "https://git.example", Follow: []string{"**"}},
		func(int64) (store.Sealed, error) {
			return store.Sealed{Credential: []byte("noise"), WebhookSecret: []byte("noise")}, nil
		})
	if err != nil {
		return err
	}
	list, err := tx.SaveRepositories(ctx, c.ID, []model.Repository{{HostID: "1", FullName: ProjectNames[0], CloneURL: "https://git.example/" + ProjectNames[0]}}, true)
	if err == nil {
		_, err = tx.AssignProject(ctx, list[0].ID)
	}
	if err == nil {
		_, err = tx.SaveChangeRequest(ctx, model.ChangeRequest{
			RepositoryID: list[0].ID,
			Number:       1,
			State:        model.ChangeOpen,
			HeadCommit:   "commit-0",
		})
	}
	if err == nil {
		err = tx.PutChangeComment(ctx, store.ChangeComment{RepositoryID: list[0].ID, Number: 1, HostID: "1", Body: "noise"})
	}
	if err == nil {
		_, err = tx.ClaimChangeReply(ctx, store.ChangeReply{
			RepositoryID: list[0].ID,
			Number:       1,
			Comment:      "1",
			Login:        "noise",
			At:           tx.Now(),
		})
	}
	if err == nil {
		_, err = tx.AddDelivery(ctx, store.Delivery{ConnectionID: c.ID, Delivery: "1", Event: "push"})
	}
	return err
}

// noisyRuns creates due runs, one run leased by a runner, and a schedule.
func noisyRuns(ctx context.Context, tx *store.Tx) error {
	projects, err := tx.Projects(ctx, store.ProjectQuery{})
	if err != nil {
		return err
	}
	runner, err := tx.RecordRunnerContact(ctx, model.Runner{Name: "runner-1", TokenID: 1})
	if err != nil {
		return err
	}
	for _, p := range projects {
		if err := tx.PutRunPlan(ctx, model.RunPlan{ProjectID: p.ID, Every: model.RunDaily, QueuedAt: tx.Now()}); err != nil {
			return err
		}
		if _, err := tx.QueueRun(ctx, model.Run{
			ProjectID: p.ID,
			Ref:       "refs/heads/main",
			Kind:      model.RunFull,
			Cause:     model.RunBySchedule,
			Host:      "git.example",
		}); err != nil {
			return err
		}
	}
	_, _, err = tx.LeaseRun(ctx, runner.ID, nil)
	return err
}

// noisyRunLog adds a log to the leased run.
func noisyRunLog(ctx context.Context, s *store.Store, d model.Deployment) error {
	var runs []model.Run
	err := s.View(ctx, d.ID, func(ctx context.Context, tx *store.Tx) (err error) {
		runs, err = tx.Runs(ctx, store.RunQuery{Limit: 10})
		return err
	})
	for _, r := range runs {
		if err == nil && r.State.Begun() {
			err = s.ProgressRun(ctx, d.ID, r.ID, r.Claim, store.RunProgress{State: model.RunFetching, Log: []byte("noise\n")})
		}
	}
	return err
}
