pipeline {
  agent any
  environment {
    SEMGREP_URL = 'https://redoubt.example'
    SEMGREP_FAIL_OPEN_URL = 'https://redoubt.example'
    SEMGREP_APP_TOKEN = credentials('redoubt-token')
    SEMGREP_SEND_METRICS = 'off'
    SEMGREP_ENABLE_VERSION_CHECK = '0'
  }
  stages {
    stage('Redoubt') {
      steps {
        sh 'python3 -m venv "$WORKSPACE_TMP/redoubt" && "$WORKSPACE_TMP/redoubt/bin/pip" install -q semgrep==1.180.0'
        sh '''
          if [ -n "$CHANGE_ID" ]; then # a change request, in a multibranch pipeline
            export SEMGREP_BRANCH="$CHANGE_BRANCH" SEMGREP_PR_ID="$CHANGE_ID"
            set -- --baseline-commit "$(git merge-base "origin/$CHANGE_TARGET" HEAD)"
          fi
          "$WORKSPACE_TMP/redoubt/bin/semgrep" ci --oss-only --no-suppress-errors "$@"
        '''
      }
    }
  }
}
