package web

import "slices"

// accountRoutes returns the table of the pages about people: sign-in, accounts, settings and programs.
func accountRoutes() []route { return slices.Concat(peopleRoutes(), letInRoutes()) }

// peopleRoutes are the rows about people: how they come in, and what they set.
func peopleRoutes() []route {
	const settings = org + "/settings"
	return []route{
		{row(get, "/login", anyone, reads), login},
		{row(post, "/login", anyone, writes), formed(enter)},
		{row(get, againPath, anyone, reads), again},
		{row(post, againPath, anyone, writes), proveByPassword},
		{row(get, codePath, anyone, reads), askCode},
		{row(post, codePath, anyone, writes), formed(enterCode)},
		{row(post, passkeyPath, anyone, writes), formed(enterByPasskey)},
		{row(get, "/login/oidc", anyone, reads), goToProvider},
		{row(get, "/login/oidc/callback", anyone, writes), comeFromProvider},
		{row(post, "/logout", anyone, writes), logout},
		{row(get, "/setup/{code}", anyone, reads), setup},
		{row(post, "/setup/{code}", anyone, writes), formed(useLink)},
		{row(get, "/sign-in/{code}", anyone, reads), signInLink},
		{row(post, "/sign-in/{code}", anyone, writes), enterByLink},

		{row(get, "/join/{code}", anyone, reads), join},
		{row(post, "/join/{code}", anyone, writes), formed(useJoin)},
		{row(get, choosePath, anyone, reads), choose},
		{row(post, choosePath, anyone, reads), chooseOne},
		{row(get, invitationsPath, anyone, reads), invitations},
		{row(post, invitationsPath+"/{id}/accept", anyone, writes), acceptInvitation},
		{row(post, invitationsPath+"/{id}/decline", anyone, writes), declineInvitation},

		{row(get, secondFactorPath, anyone, reads), secondFactor},
		{row(get, appPath, anyone, reads), proven(startApp)},
		{row(post, appPath, anyone, writes), proven(setUpApp)},
		{row(get, recoveryCodesPath, anyone, reads), recoveryCodes},
		{row(post, recoveryCodesPath, anyone, writes), proven(newRecoveryCodes)},
		{row(get, passkeysPath, anyone, reads), proven(startPasskey)},
		{row(post, passkeysPath, anyone, writes), proven(formed(addPasskey))},
		{row(post, passkeysPath+"/{id}/remove", anyone, writes), proven(removePasskey)},
		{row(post, secondFactorPath+"/remove", anyone, writes), removeSecondFactor},

		{row(get, org+"/account", roleViewer, reads), account},
		{row(post, org+"/account/password", roleViewer, writes), formed(changePassword)},
		{row(post, org+"/account/mail", roleViewer, writes), formed(changeMail)},
		{row(post, org+"/account/sessions/{id}/end", roleViewer, writes), endSession},
		{row(post, org+"/account/sign-out", roleViewer, writes), signOutEverywhere},

		{row(get, settings+"/tokens", roleViewer, reads), tokens},
		{row(post, settings+"/tokens", roleViewer, writes), proven(formed(createToken))},
		{row(post, settings+"/tokens/{id}/revoke", roleViewer, writes), revokeToken},
		{row(get, settings+"/users", roleAdmin, reads), users},
		{row(get, settings+"/users/invited", roleAdmin, reads), invited},
		{row(post, settings+"/users", roleAdmin, writes), proven(formed(createUser))},
		{row(post, settings+"/invitations/{id}/withdraw", roleAdmin, writes), withdrawInvitation},
		{row(post, settings+"/users/{name}/role", roleAdmin, writes), proven(formed(setUserRole))},
		{row(post, settings+"/users/{name}/link", roleAdmin, writes), proven(resetUser)},
		{row(post, settings+"/users/{name}/disable", roleAdmin, writes), proven(disableUser)},
		{row(post, settings+"/users/{name}/enable", roleAdmin, writes), proven(enableUser)},
		{row(post, settings+"/users/{name}/reset-2fa", roleAdmin, writes), proven(resetSecondFactor)},
		{row(post, settings+"/second-factor", roleAdmin, writes), proven(formed(requireSecondFactor))},
		{row(get, settings+"/audit", roleAdmin, reads), audit},
		{row(get, settings+"/about", roleViewer, reads), showAbout},
	}
}

// letInRoutes are the rows about programs that a person lets in.
func letInRoutes() []route {
	return []route{
		{row(get, org+approvePath, roleTriager, reads), askForToken},
		{row(post, org+approvePath, roleTriager, writes), proven(formed(decideToken))},
		{row(get, org+authorizePath, roleViewer, reads), proven(askToAuthorize)},
		{row(post, org+authorizePath, roleViewer, writes), proven(formed(authorize))},
		{row(get, devicePath, anyone, reads), goToDevice},
		{row(get, org+devicePath, roleViewer, reads), proven(askForToken)},
		{row(post, org+devicePath, roleViewer, writes), proven(formed(decideToken))},
	}
}
