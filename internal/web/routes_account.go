package web

// settingsNav is what accountRoutes adds to the navigation.
var settingsNav = navGroup{"Settings", []navItem{
	{Label: "Tokens", Path: "/settings/tokens", Section: "tokens", least: viewer},
	{Label: "Connections", Path: connectionsPath, Section: "connections", least: admin},
	{Label: "Runners", Path: runnersPath, Section: "runners", least: admin},
	{Label: "Notifications", Path: notificationsPath, Section: "notifications", least: admin},
	{Label: "Users", Path: "/settings/users", Section: "users", least: admin},
	{Label: "Audit log", Path: "/settings/audit", Section: "audit", least: admin},
	{Label: "About", Path: "/settings/about", Section: "about", least: viewer},
}}

// accountRoutes are the rows about people: how they come in, and what they set.
func accountRoutes() []route {
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

		{row(get, org+"/account", viewer, reads), account},
		{row(post, org+"/account/password", viewer, writes), formed(changePassword)},
		{row(post, org+"/account/mail", viewer, writes), formed(changeMail)},
		{row(post, org+"/account/sessions/{id}/end", viewer, writes), endSession},
		{row(post, org+"/account/sign-out", viewer, writes), signOutEverywhere},

		{row(get, settings+"/tokens", viewer, reads), tokens},
		{row(post, settings+"/tokens", viewer, writes), proven(formed(createToken))},
		{row(post, settings+"/tokens/{id}/revoke", viewer, writes), revokeToken},
		{row(get, settings+"/users", admin, reads), users},
		{row(get, settings+"/users/invited", admin, reads), invited},
		{row(post, settings+"/users", admin, writes), proven(formed(createUser))},
		{row(post, settings+"/invitations/{id}/withdraw", admin, writes), withdrawInvitation},
		{row(post, settings+"/users/{name}/role", admin, writes), proven(formed(setUserRole))},
		{row(post, settings+"/users/{name}/link", admin, writes), proven(resetUser)},
		{row(post, settings+"/users/{name}/disable", admin, writes), proven(disableUser)},
		{row(post, settings+"/users/{name}/enable", admin, writes), proven(enableUser)},
		{row(post, settings+"/users/{name}/reset-2fa", admin, writes), proven(resetSecondFactor)},
		{row(post, settings+"/second-factor", admin, writes), proven(formed(requireSecondFactor))},
		{row(get, settings+"/audit", admin, reads), audit},
		{row(get, settings+"/about", viewer, reads), showAbout},
	}
}

// managedRoutes are the rows about code hosts, and about who makes managed scans.
func managedRoutes() []route {
	return []route{
		{row(get, org+connectionsPath, admin, reads), connections},
		{row(post, org+connectionsPath, admin, writes), proven(formed(addConnection))},
		{row(get, org+connectionsPath+"/{id}", admin, reads), connection},
		{row(post, org+connectionsPath+"/{id}", admin, writes), proven(formed(changeConnection))},
		{row(post, org+connectionsPath+"/{id}/test", admin, writes), testConnection},
		{row(post, org+connectionsPath+"/{id}/repositories", admin, writes), formed(chooseRepositories)},
		{row(post, org+connectionsPath+"/{id}/hooks", admin, writes), formed(hookConnection)},
		{row(post, org+connectionsPath+"/{id}/remove", admin, writes), proven(removeConnection)},
		{row(get, org+runnersPath, admin, reads), runners},
		{row(post, org+runnersPath, admin, writes), proven(makeRunnerToken)},
		{row(post, org+runnersPath+"/{id}/revoke", admin, writes), revokeRunner},
	}
}

// notificationRoutes are the rows about who is told of what.
func notificationRoutes() []route {
	const rules, one = org + notificationsPath, org + notificationsPath + "/{id}"
	return []route{
		{row(get, rules, admin, reads), notifications},
		{row(get, rules+"/new", admin, reads), newNotification},
		{row(post, rules, admin, writes), proven(formed(addNotification))},
		{row(get, one, admin, reads), notification},
		{row(post, one, admin, writes), proven(formed(changeNotification))},
		{row(post, one+"/pause", admin, writes), formed(pauseNotification)},
		{row(post, one+"/test", admin, writes), testNotification},
		{row(post, one+"/rotate", admin, writes), proven(rotateNotification)},
		{row(post, one+"/delete", admin, writes), proven(deleteNotification)},
		{row(post, one+"/notifications/{notification}/resend", admin, writes), resendNotification},
	}
}

// letInRoutes are the rows about programs that a person lets in.
func letInRoutes() []route {
	return []route{
		{row(get, org+approvePath, triager, reads), askForToken},
		{row(post, org+approvePath, triager, writes), proven(formed(decideToken))},
		{row(get, org+authorizePath, viewer, reads), proven(askToAuthorize)},
		{row(post, org+authorizePath, viewer, writes), proven(formed(authorize))},
		{row(get, devicePath, anyone, reads), goToDevice},
		{row(get, org+devicePath, viewer, reads), proven(askForToken)},
		{row(post, org+devicePath, viewer, writes), proven(formed(decideToken))},
	}
}

// startRoutes are the rows about the first start, and about uploads.
func startRoutes() []route {
	const start = org + startPath
	return []route{
		{row(get, start, viewer, reads), openStart},
		{row(get, start+"/steps", viewer, reads), startSteps},
		{row(post, start+"/token", triager, writes), proven(formed(createStartToken))},
		{row(get, start+"/block", admin, reads), askFirstBlock},
		{row(post, start+"/block", admin, writes), proven(formed(firstBlock))},
		{row(post, start+"/block-nothing", admin, writes), blockNothing},
		{row(post, start+"/leave", admin, writes), leaveStart},
		{row(get, org+uploadPath, triager, reads), upload},
		{row(post, org+uploadPath, triager, writes), takeUpload},
		{row(get, org+uploadPath+"/{key}", triager, reads), uploaded},
	}
}
