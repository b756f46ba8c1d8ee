package account

import (
	"net/http"
	"slices"

	"github.com/redoubt/redoubt/internal/httpx"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// Short names for the rows of the table.
const (
	get     = http.MethodGet
	post    = http.MethodPost
	org     = ui.Org
	anyone  = ui.Anyone
	viewer  = model.RoleViewer
	triager = model.RoleTriager
	admin   = model.RoleAdmin
	reads   = httpx.Reads
	writes  = httpx.Writes
)

// Routes returns the routes of the pages about sign-in, accounts, settings and applications.
func Routes() []ui.Route { return slices.Concat(peopleRoutes(), authRoutes()) }

// peopleRoutes returns the routes for sign-in and settings.
func peopleRoutes() []ui.Route {
	const settings = org + "/settings"
	return []ui.Route{
		ui.Row(get, "/login", anyone, reads, login),
		ui.Row(post, "/login", anyone, writes, ui.WithForm(enter)),
		ui.Row(get, ui.ReauthPath, anyone, reads, reauthPage),
		ui.Row(post, ui.ReauthPath, anyone, writes, proveByPassword),
		ui.Row(get, codePath, anyone, reads, showCodePage),
		ui.Row(post, codePath, anyone, writes, ui.WithForm(enterCode)),
		ui.Row(post, passkeyPath, anyone, writes, ui.WithForm(enterByPasskey)),
		ui.Row(get, "/login/oidc", anyone, reads, goToProvider),
		ui.Row(get, "/login/oidc/callback", anyone, writes, oidcCallback),
		ui.Row(post, "/logout", anyone, writes, logout),
		ui.Row(get, "/setup/{code}", anyone, reads, setup),
		ui.Row(post, "/setup/{code}", anyone, writes, ui.WithForm(useLink)),
		ui.Row(get, "/sign-in/{code}", anyone, reads, signInLink),
		ui.Row(post, "/sign-in/{code}", anyone, writes, enterByLink),

		ui.Row(get, "/join/{code}", anyone, reads, join),
		ui.Row(post, "/join/{code}", anyone, writes, ui.WithForm(useJoin)),
		ui.Row(get, ui.ChoosePath, anyone, reads, choose),
		ui.Row(post, ui.ChoosePath, anyone, reads, chooseOne),
		ui.Row(get, ui.InvitationsPath, anyone, reads, invitations),
		ui.Row(post, ui.InvitationsPath+"/{id}/accept", anyone, writes, acceptInvitation),
		ui.Row(post, ui.InvitationsPath+"/{id}/decline", anyone, writes, declineInvitation),

		ui.Row(get, ui.SecondFactorPath, anyone, reads, secondFactor),
		ui.Row(get, appPath, anyone, reads, ui.Proven(startApp)),
		ui.Row(post, appPath, anyone, writes, ui.Proven(setUpApp)),
		ui.Row(get, recoveryCodesPath, anyone, reads, recoveryCodes),
		ui.Row(post, recoveryCodesPath, anyone, writes, ui.Proven(newRecoveryCodes)),
		ui.Row(get, passkeysPath, anyone, reads, ui.Proven(startPasskey)),
		ui.Row(post, passkeysPath, anyone, writes, ui.Proven(ui.WithForm(addPasskey))),
		ui.Row(post, passkeysPath+"/{id}/remove", anyone, writes, ui.Proven(removePasskey)),
		ui.Row(post, ui.SecondFactorPath+"/remove", anyone, writes, removeSecondFactor),

		ui.Row(get, org+"/account", viewer, reads, account),
		ui.Row(post, org+"/account/password", viewer, writes, ui.WithForm(changePassword)),
		ui.Row(post, org+"/account/mail", viewer, writes, ui.WithForm(changeMail)),
		ui.Row(post, org+"/account/sessions/{id}/end", viewer, writes, endSession),
		ui.Row(post, org+"/account/sign-out", viewer, writes, signOutEverywhere),

		ui.Row(get, settings+"/tokens", viewer, reads, tokens),
		ui.Row(post, settings+"/tokens", viewer, writes, ui.Proven(ui.WithForm(createToken))),
		ui.Row(post, settings+"/tokens/{id}/revoke", viewer, writes, revokeToken),
		ui.Row(get, settings+"/users", admin, reads, users),
		ui.Row(get, settings+"/users/invited", admin, reads, invited),
		ui.Row(post, settings+"/users", admin, writes, ui.Proven(ui.WithForm(createUser))),
		ui.Row(post, settings+"/invitations/{id}/withdraw", admin, writes, withdrawInvitation),
		ui.Row(post, settings+"/users/{name}/role", admin, writes, ui.Proven(ui.WithForm(setUserRole))),
		ui.Row(post, settings+"/users/{name}/link", admin, writes, ui.Proven(resetUser)),
		ui.Row(post, settings+"/users/{name}/disable", admin, writes, ui.Proven(disableUser)),
		ui.Row(post, settings+"/users/{name}/enable", admin, writes, ui.Proven(enableUser)),
		ui.Row(post, settings+"/users/{name}/reset-2fa", admin, writes, ui.Proven(resetSecondFactor)),
		ui.Row(post, settings+"/second-factor", admin, writes, ui.Proven(ui.WithForm(requireSecondFactor))),
		ui.Row(get, settings+"/audit", admin, reads, audit),
		ui.Row(get, settings+"/about", viewer, reads, showAbout),
	}
}

// authRoutes returns the routes on which a user authorizes applications.
func authRoutes() []ui.Route {
	return []ui.Route{
		ui.Row(get, org+ui.ApprovePath, triager, reads, showLoginRequest),
		ui.Row(post, org+ui.ApprovePath, triager, writes, ui.Proven(ui.WithForm(decideToken))),
		ui.Row(get, org+ui.AuthorizePath, viewer, reads, ui.Proven(showAuthorization)),
		ui.Row(post, org+ui.AuthorizePath, viewer, writes, ui.Proven(ui.WithForm(authorize))),
		ui.Row(get, ui.DevicePath, anyone, reads, goToDevice),
		ui.Row(get, org+ui.DevicePath, viewer, reads, ui.Proven(showLoginRequest)),
		ui.Row(post, org+ui.DevicePath, viewer, writes, ui.Proven(ui.WithForm(decideToken))),
	}
}
