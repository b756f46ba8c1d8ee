package store_test

import (
	"context"
	"slices"
	"testing"

	"github.com/redoubt/redoubt/internal/exceptions"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// TestForeignIDsAreNotFound calls every method with an id of another tenant.
func TestForeignIDsAreNotFound(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		own := addProjects(t, s, d, "acme/own")[0]
		var (
			project model.Project
			scan    model.Scan
			token   model.Token
			policy  model.Policy

			exception  model.Exception
			connection model.Connection
			repository model.Repository
		)
		view(t, s, deployment(t, s, storetest.Noise), func(ctx context.Context, tx *store.Tx) error {
			projects, err := tx.Projects(ctx, store.ProjectQuery{})
			scans, _, err2 := tx.Scans(ctx, model.ScanFilter{}, store.ScanCursor{}, 1)
			tokens, err3 := tx.Tokens(ctx)
			policies, err4 := tx.Policies(ctx)
			exceptions, err5 := tx.Exceptions(ctx)
			connections, err6 := tx.Connections(ctx)
			repositories, err7 := tx.Repositories(ctx, connections[0].ID)
			for _, err := range []error{err, err2, err3, err4, err5, err6, err7} {
				if err != nil {
					return err
				}
			}
			project, scan, token, policy, exception = projects[0], scans[0], tokens[0], policies[0], exceptions[0]
			connection, repository = connections[0], repositories[0]
			return nil
		})
		noise := counts(t, s, deployment(t, s, storetest.Noise))
		for what, call := range map[string]func(context.Context, *store.Tx) error{
			"Project": func(ctx context.Context, tx *store.Tx) error { _, err := tx.Project(ctx, project.ID); return err },
			"ProjectByName": func(ctx context.Context, tx *store.Tx) error {
				_, err := tx.ProjectByName(ctx, project.Name)
				return err
			},
			"ProjectByName, an old one": func(ctx context.Context, tx *store.Tx) error {
				_, err := tx.ProjectByName(ctx, "old/"+project.Name)
				return err
			},
			"UpdateProject": func(ctx context.Context, tx *store.Tx) error {
				_, err := tx.UpdateProject(ctx, project.ID, store.ProjectPatch{URL: new("x")})
				return err
			},
			"RenameProject": func(ctx context.Context, tx *store.Tx) error {
				_, err := tx.RenameProject(ctx, project.ID, "a/b")
				return err
			},
			"MergeProjects, from": func(ctx context.Context, tx *store.Tx) error {
				_, err := tx.MergeProjects(ctx, project.ID, own.ID)
				return err
			},
			"MergeProjects, into": func(ctx context.Context, tx *store.Tx) error {
				_, err := tx.MergeProjects(ctx, own.ID, project.ID)
				return err
			},
			"DeleteProject": func(ctx context.Context, tx *store.Tx) error { return tx.DeleteProject(ctx, project.ID) },
			"DeleteRef":     func(ctx context.Context, tx *store.Tx) error { return tx.DeleteRef(ctx, project.ID, "refs/heads/x") },
			"UpdateProjectByScan": func(ctx context.Context, tx *store.Tx) error {
				_, err := tx.UpdateProjectByScan(ctx, nil, project.ID, model.Project{Name: project.Name, Tags: []string{"x"}})
				return err
			},
			"ScanApplied": func(ctx context.Context, tx *store.Tx) error {
				return tx.ScanApplied(ctx, project.ID, main, true, tx.Now())
			},
			"AddScan": func(ctx context.Context, tx *store.Tx) error {
				_, err := tx.AddScan(ctx, model.Scan{ProjectID: project.ID})
				return err
			},
			"Scan":       func(ctx context.Context, tx *store.Tx) error { _, err := tx.Scan(ctx, scan.ID); return err },
			"FinishScan": func(ctx context.Context, tx *store.Tx) error { return tx.FinishScan(ctx, scan) },
			"Token":      func(ctx context.Context, tx *store.Tx) error { _, err := tx.Token(ctx, token.PublicID); return err },
			"RevokeToken": func(ctx context.Context, tx *store.Tx) error {
				return tx.RevokeToken(ctx, token.ID)
			},
			"Policy": func(ctx context.Context, tx *store.Tx) error { _, err := tx.Policy(ctx, policy.ID); return err },
			"PolicyRules": func(ctx context.Context, tx *store.Tx) error {
				_, _, err := tx.PolicyRules(ctx, policy.ID, 0, 10)
				return err
			},
			"SetRuleMode": func(ctx context.Context, tx *store.Tx) error {
				_, err := tx.SetRuleMode(ctx, policy.ID, "rule-0", model.ModeBlock)
				return err
			},
			"RemoveException": func(ctx context.Context, tx *store.Tx) error {
				_, _, err := exceptions.Remove(ctx, tx, exception.ID)
				return err
			},
			"RemoveRule": func(ctx context.Context, tx *store.Tx) error { return tx.RemoveRule(ctx, policy.ID, "served") },
			"AgentScan":  func(ctx context.Context, tx *store.Tx) error { _, err := tx.AgentScan(ctx, "agent-scan"); return err },
			"AgentScanOf": func(ctx context.Context, tx *store.Tx) error {
				_, err := tx.AgentScanOf(ctx, 1)
				return err
			},
			"WaitingLogin": func(ctx context.Context, tx *store.Tx) error {
				_, err := tx.WaitingLogin(ctx, "NOIS-EEEE")
				return err
			},
			"ApproveLogin": func(ctx context.Context, tx *store.Tx) error {
				return tx.ApproveLogin(ctx, model.LoginRequest{KeyHash: storetest.TokenHash("NOIS-EEEE")}, model.Token{})
			},
			"DenyLogin": func(ctx context.Context, tx *store.Tx) error {
				return tx.DenyLogin(ctx, model.LoginRequest{KeyHash: storetest.TokenHash("NOIS-EEEE")})
			},
			"ConsumeLogin": func(ctx context.Context, tx *store.Tx) error {
				_, err := tx.ConsumeLogin(ctx, storetest.TokenHash("NOIS-EEEE"))
				return err
			},
			"OAuthGrantByCode": func(ctx context.Context, tx *store.Tx) error {
				_, err := tx.OAuthGrantByCode(ctx, storetest.TokenHash(storetest.NoisyCode))
				return err
			},
			"OAuthGrantByToken": func(ctx context.Context, tx *store.Tx) error {
				_, err := tx.OAuthGrantByToken(ctx, token.ID)
				return err
			},
			"Connection": func(ctx context.Context, tx *store.Tx) error {
				_, err := tx.Connection(ctx, connection.ID)
				return err
			},
			"UpdateConnection": func(ctx context.Context, tx *store.Tx) error {
				_, err := tx.UpdateConnection(ctx, connection, store.Sealed{Credential: []byte("stolen")})
				return err
			},
			"NoteConnectionCheck": func(ctx context.Context, tx *store.Tx) error {
				return tx.NoteConnectionCheck(ctx, connection.ID, "x", "x")
			},
			"DeleteConnection": func(ctx context.Context, tx *store.Tx) error { return tx.DeleteConnection(ctx, connection.ID) },
			"SaveRepositories": func(ctx context.Context, tx *store.Tx) error {
				_, err := tx.SaveRepositories(ctx, connection.ID, nil, true)
				return err
			},
			"Repository": func(ctx context.Context, tx *store.Tx) error {
				_, err := tx.Repository(ctx, repository.ProjectID)
				return err
			},
			"RepositoryByID": func(ctx context.Context, tx *store.Tx) error {
				_, err := tx.RepositoryByID(ctx, repository.ID)
				return err
			},
			"RepositoryByHostID": func(ctx context.Context, tx *store.Tx) error {
				_, err := tx.RepositoryByHostID(ctx, connection.ID, repository.HostID)
				return err
			},
			"AssignProject": func(ctx context.Context, tx *store.Tx) error {
				_, err := tx.AssignProject(ctx, repository.ID)
				return err
			},
			"SaveChangeRequest": func(ctx context.Context, tx *store.Tx) error {
				_, err := tx.SaveChangeRequest(ctx, model.ChangeRequest{RepositoryID: repository.ID, Number: 1, HeadCommit: "stolen"})
				return err
			},
			"ChangeRequest": func(ctx context.Context, tx *store.Tx) error {
				_, err := tx.ChangeRequest(ctx, repository.ID, 1)
				return err
			},
			"AddDelivery": func(ctx context.Context, tx *store.Tx) error {
				_, err := tx.AddDelivery(ctx, store.Delivery{ConnectionID: connection.ID, Delivery: "x"})
				return err
			},
			"DropRepository": func(ctx context.Context, tx *store.Tx) error { return tx.DropRepository(ctx, repository.ID) },
			"RenewToken": func(ctx context.Context, tx *store.Tx) error {
				_, err := tx.RenewToken(ctx, token.ID, storetest.TokenHash("stolen"), tx.Now())
				return err
			},
			"TokenByID": func(ctx context.Context, tx *store.Tx) error {
				_, err := tx.TokenByID(ctx, token.ID)
				return err
			},
			"AgentAnswer": func(ctx context.Context, tx *store.Tx) error { _, err := tx.AgentAnswer(ctx, "agent-scan"); return err },
			"Job":         func(ctx context.Context, tx *store.Tx) error { _, err := tx.Job(ctx, "job-token"); return err },
		} {
			fails(t, what, s.Update(t.Context(), d.ID, storetest.Actor, call), model.ErrNotFound)
		}
		_, err := s.TokenByHash(t.Context(), d.ID, storetest.TokenHash("ci"))
		fails(t, "TokenByHash", err, model.ErrNotFound)
		same(t, "rows of the noisy tenant", counts(t, s, deployment(t, s, storetest.Noise)), noise)
	})
}

// TestListsOfEmptyTenantAreEmpty reads every list of an empty tenant.
func TestListsOfEmptyTenantAreEmpty(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		view(t, s, d, func(ctx context.Context, tx *store.Tx) error {
			projects, err := tx.Projects(ctx, store.ProjectQuery{})
			same(t, "projects", projects, []model.Project{})
			scans, _, err2 := tx.Scans(ctx, model.ScanFilter{}, store.ScanCursor{}, 10)
			same(t, "scans", scans, []model.Scan{})
			tokens, err3 := tx.Tokens(ctx)
			same(t, "tokens", tokens, []model.Token{})
			policies, err4 := tx.Policies(ctx)
			same(t, "how many policies", len(policies), 3)
			stream, err5 := tx.Stream(ctx, 1, main, "semgrep", "commit-0")
			same(t, "a stream", stream, model.ScanStream{})
			trail, err6 := tx.AuditEvents(ctx, 0, 100)
			same(t, "how many events", len(trail), 4)
			served, err7 := tx.ServedRules(ctx)
			same(t, "served rules", served, []model.ServedRule{})
			failed, err8 := tx.FailedAttempts(ctx, 10)
			same(t, "failed attempts", failed, []model.FailedAttempt{})
			exceptions, err9 := tx.Exceptions(ctx)
			same(t, "exceptions", exceptions, []model.Exception{})
			for _, err := range []error{err9, err8, err7, err, err2, err3, err4, err5, err6} {
				if err != nil {
					return err
				}
			}
			return nil
		})
		// The other tenant has rows, so empty lists are meaningful.
		for table, n := range counts(t, s, deployment(t, s, storetest.Noise)) {
			if quiet := []string{"change"}; n == 0 && !slices.Contains(quiet, table) {
				t.Errorf("the noisy tenant has no %s", table)
			}
		}
	})
}
