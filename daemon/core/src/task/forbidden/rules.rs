//! The rules that an act is denied by. A rule about a command covers every command that begins with its words, in pipes,
//! wrappers and other shells too.

use crate::permission::rule::{COMMAND, Matcher};
use crate::tool::spec::{Class, SPECS};

/// The glob over everything in the project.
pub const EVERYTHING: &str = "**";

/// Where tests usually lie.
pub const TESTS: &[&str] = &[
    "test/**",
    "tests/**",
    "**/test/**",
    "**/tests/**",
    "**/__tests__/**",
    "**/test_*.*",
    "**/*_test.*",
    "**/*.test.*",
    "**/*.spec.*",
];

/// What makes a commit.
pub const COMMIT: &[&str] = &[
    "git commit",
    "git commit-tree",
    "git citool",
    "git am",
    "git cherry-pick",
    "git revert",
    "git merge",
    "jj commit",
    "hg commit",
    "svn commit",
    "svn ci",
];

/// What sends commits elsewhere.
pub const PUSH: &[&str] =
    &["git push", "git send-pack", "git subtree push", "git svn dcommit", "jj git push", "hg push"];

/// What asks others to take changes.
pub const REQUEST: &[&str] = &["gh pr create", "glab mr create", "hub pull-request", "git send-email"];

/// What merges.
pub const MERGE: &[&str] = &["git merge", "git pull", "gh pr merge", "glab mr merge", "hg merge"];

/// What rewrites commits.
pub const REBASE: &[&str] = &["git rebase", "git pull --rebase", "git filter-branch"];

/// What brings a build to others.
pub const DEPLOY: &[&str] = &[
    "git push",
    "ansible-playbook",
    "aws cloudformation deploy",
    "aws deploy",
    "aws ecs update-service",
    "aws lambda update-function-code",
    "aws s3 cp",
    "aws s3 sync",
    "cap deploy",
    "cargo publish",
    "cdk deploy",
    "docker push",
    "docker stack deploy",
    "dotnet nuget push",
    "dotnet publish",
    "eb deploy",
    "firebase deploy",
    "fly deploy",
    "flyctl deploy",
    "gcloud app deploy",
    "gcloud functions deploy",
    "gcloud run deploy",
    "gem push",
    "gh release",
    "gh workflow run",
    "glab release",
    "goreleaser",
    "gradle publish",
    "gradlew publish",
    "helm install",
    "helm upgrade",
    "heroku",
    "just deploy",
    "just publish",
    "just release",
    "kubectl apply",
    "kubectl create",
    "kubectl delete",
    "kubectl patch",
    "kubectl replace",
    "kubectl rollout",
    "kubectl scale",
    "kubectl set",
    "make deploy",
    "make publish",
    "make release",
    "mvn deploy",
    "mvn release:perform",
    "netlify deploy",
    "npm publish",
    "npm run deploy",
    "npm run publish",
    "npm run release",
    "oc apply",
    "pnpm deploy",
    "pnpm publish",
    "pnpm run deploy",
    "podman push",
    "poetry publish",
    "pulumi up",
    "sam deploy",
    "serverless deploy",
    "sls deploy",
    "terraform apply",
    "terraform destroy",
    "tofu apply",
    "tofu destroy",
    "twine upload",
    "uv publish",
    "vercel",
    "wrangler deploy",
    "wrangler publish",
    "yarn deploy",
    "yarn npm publish",
    "yarn publish",
];

/// What adds packages to the machine or the project.
pub const INSTALL: &[&str] = &[
    "apt install",
    "apt-get install",
    "brew install",
    "bundle install",
    "cargo add",
    "cargo install",
    "composer install",
    "composer require",
    "dnf install",
    "gem install",
    "go get",
    "go install",
    "npm add",
    "npm i",
    "npm install",
    "npx",
    "pacman -S",
    "pip install",
    "pip3 install",
    "pipx install",
    "pnpm add",
    "pnpm i",
    "pnpm install",
    "poetry add",
    "python -m pip install",
    "python3 -m pip install",
    "uv add",
    "uv pip install",
    "yarn add",
    "yarn install",
    "yum install",
];

/// What speaks with other machines, besides what installs.
const NETWORK: &[&str] = &[
    "aws",
    "cargo fetch",
    "cargo publish",
    "cargo update",
    "curl",
    "docker pull",
    "docker push",
    "ftp",
    "gcloud",
    "gh",
    "git clone",
    "git fetch",
    "git ls-remote",
    "git pull",
    "git push",
    "git submodule update",
    "glab",
    "go mod download",
    "helm",
    "kubectl",
    "nc",
    "ncat",
    "npm ci",
    "rsync",
    "scp",
    "sftp",
    "ssh",
    "telnet",
    "wget",
];

/// Rules for commands that begin with these words.
pub fn commands(list: &[&str]) -> Vec<String> {
    list.iter().map(|words| format!("{COMMAND}({words} *)")).collect()
}

/// Rules against speaking with other machines.
pub fn network() -> Vec<String> {
    let tools = SPECS.iter().filter(|spec| spec.class == Class::Network).map(|spec| spec.name.to_owned());
    tools.chain(commands(NETWORK)).chain(commands(INSTALL)).collect()
}

/// Rules against changing these files, by every tool that does. Commands that write them are denied by these, too.
pub fn edits(globs: &[String]) -> Vec<String> {
    let tools = SPECS.iter().filter(|spec| spec.class == Class::Write);
    let rules = tools.flat_map(|spec| globs.iter().map(move |glob| format!("{}({glob})", spec.name)));
    // What is no rule is not stored as one.
    rules.filter(|rule| rule.parse::<Matcher>().is_ok()).collect()
}

/// Rules against deleting these files.
pub fn deletions(globs: &[String]) -> Vec<String> {
    let rules = globs.iter().map(|glob| format!("delete_file({glob})"));
    rules.filter(|rule| rule.parse::<Matcher>().is_ok()).collect()
}
