//! What sessions work with: shared by all of a daemon, by those of a project, and for one turn.

use super::api::{ApiError, ApiErrorKind, Client, ProjectInfo};
use super::editors::Editors;
use super::lasting::Lasting;
use super::memories::Memories;
use super::{attached, calibrations, plan};
use crate::config::{Config, Folders, Overrides, OwnTexts, Permissions, TextFiles};
use crate::file_io::pre_image::PreImages;
use crate::process::sandbox::probe::Probe;
use crate::process::shell::is_bash;
use crate::process::{Helper, background::Background, key_command};
use crate::provider::endpoint::{Endpoint, Secret};
use crate::provider::{self, Http};
use crate::store::{MEMORIES, ProjectRecord, Stores};
use crate::tool::ToolEnv;
use crate::tool::registry::Registry;
use crate::workspace::instructions;
use crate::workspace::rules::{Sources, skills};
use crate::workspace::{ClientFacts, Workspace};
use plimsoll_core::id::{ProjectKey, SessionId};
use plimsoll_core::model::calibration::Calibration;
use plimsoll_core::model::catalog::ModelProfile;
use plimsoll_core::path;
use plimsoll_core::permission::policy::{Mode, Policy, Sandbox, Shell};
use plimsoll_core::permission::rule::Rule;
use plimsoll_core::prompt::Prompts;
use plimsoll_core::tool::projection::Budget;
use plimsoll_core::turn::machine::Settings;
use plimsoll_core::workspace::{AttachedFile, Attachment, EditorState, Environment, FileVersion, GitBlock, Wanted};
use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

/// The shell that commands run in.
const BASH: &str = "bash";
/// What `process` takes where there is none.
const SH: &str = "sh";

/// Shared by all sessions of a daemon.
pub(super) struct Shared {
    pub(super) folders: Folders,
    /// The daemon's own environment, for keys that the client does not have.
    pub(super) daemon_env: BTreeMap<String, String>,
    pub(super) registry: Registry,
    /// What commands left running.
    pub(super) background: Arc<Background>,
    pub(super) http: Arc<Http>,
    pub(super) editors: Editors,
    pub(super) running_turns: Arc<AtomicUsize>,
    pub(super) sandbox: Sandboxes,
}

/// What this machine can hold a command to.
#[derive(Default)]
pub(super) struct Sandboxes {
    /// What starts commands; without it none is held to anything.
    pub(super) helper: Option<Helper>,
    pub(super) probe: Probe,
}

impl Sandboxes {
    /// Found out when it is first asked for.
    async fn found(&self) -> Sandbox {
        match &self.helper {
            Some(helper) => self.probe.found(helper).await.sandbox(),
            None => Sandbox::default(),
        }
    }
}

/// Shared by the sessions of a project.
pub(super) struct Project {
    pub(super) key: ProjectKey,
    pub(super) roots: Vec<PathBuf>,
    pub(super) workspace: Workspace,
    /// The project's folder in the data folder.
    pub(super) folder: PathBuf,
    pub(super) stores: Stores,
    /// Texts in the place of built-in ones.
    pub(super) texts: TextFiles,
    /// What the user decided for it for good.
    pub(super) lasting: Lasting,
    /// What is remembered in it over sessions.
    pub(super) memories: Arc<Memories>,
    pub(super) shared: Arc<Shared>,
}

/// What was chosen for a session when it was made.
pub(super) struct Chosen {
    /// Its model as `provider/model`.
    pub(super) model: String,
    /// Its bundle and its own identity sentence.
    pub(super) texts: Prompts,
}

/// What one turn works with.
#[derive(Clone)]
pub(super) struct TurnSetup {
    pub(super) profile: ModelProfile,
    pub(super) endpoint: Endpoint,
    pub(super) key: Option<Secret>,
    pub(super) max_steps: u64,
    pub(super) session_cost: Option<f64>,
    pub(super) permissions: Permissions,
    sandbox: Sandbox,
    shell: Shell,
    /// Rules that the client brought along for this turn.
    pub(super) allow: Vec<Rule>,
    /// What the client put beside the prompt, until the turn is handed to the machine.
    pub(super) attachments: Vec<Attachment>,
    /// How the model's token counts compare with the estimate.
    pub(super) calibration: Calibration,
    pub(super) prompts: Prompts,
    /// What is wrong with texts that stand in the place of built-in ones.
    pub(super) text_warnings: Vec<String>,
    pub(super) language: Option<String>,
    pub(super) projection: Budget,
    /// The session's plan file in text form.
    pub(super) plan_file: String,
    /// The session's folder in text form.
    pub(super) session_dir: String,
    pub(super) tool_env: Arc<ToolEnv>,
    pub(super) workspace: Workspace,
    config_folder: PathBuf,
    sources: Sources,
    pub(super) memories: Arc<Memories>,
}

impl Project {
    /// The configuration under this client's environment.
    pub(super) fn config(&self, client: &Client, overrides: &Overrides) -> Result<Config, ApiError> {
        Config::load_for(&self.shared.folders, &client.env, self.roots.first().map(PathBuf::as_path), overrides)
            .map_err(|error| config_error(&error))
    }

    /// What a turn of this session works with, for a prompt of this client.
    pub(super) async fn turn(
        &self,
        session: &SessionId,
        client: &Client,
        chosen: &Chosen,
    ) -> Result<TurnSetup, ApiError> {
        if let Some(gone) = self.roots.iter().find(|root| !root.is_dir()) {
            return Err(ApiError::new(
                ApiErrorKind::WorkspaceMissing,
                format!("workspace missing: {}", gone.display()),
            )
            .hint("put the folder back, or open the project at its new place"));
        }
        let config = self.config(client, &Overrides::default())?;
        let (profile, endpoint) = config.model(Some(&chosen.model)).map_err(|error| config_error(&error))?;
        let daemon_env = |name: &str| self.shared.daemon_env.get(name).cloned();
        let key = provider::resolve_key(&endpoint, &client.env, daemon_env, key_command::standard_output)
            .await
            .map_err(|error| key_missing(error.message))?;
        let own = self.own_texts(profile.context_window);
        let session_dir = self.folder.join(session.as_str());
        let home = client.env.get("HOME").map(Path::new).filter(|home| home.is_absolute());
        let writable: Vec<PathBuf> = config.permissions.writable(home).iter().map(|path| canonical(path)).collect();
        let calibration = calibrations::known(&self.stores, &profile.id()).await;
        let sources = Sources {
            managed: self.shared.folders.managed.parent().map(Path::to_path_buf),
            foreign: config.sources.foreign.clone(),
            skills: config.sources.skills(home),
            trusted: self.lasting.known().trusted,
        };
        Ok(TurnSetup {
            calibration,
            profile,
            endpoint,
            key,
            max_steps: u64::from(config.max_steps_per_turn),
            session_cost: config.session_cost.map(f64::from),
            permissions: config.permissions.clone(),
            sandbox: self.shared.sandbox.found().await,
            shell: if is_bash(client.env.get("PATH").map(String::as_str)) { Shell::Bash } else { Shell::Other },
            allow: Vec::new(),
            attachments: Vec::new(),
            prompts: Prompts { overrides: own.texts, ..chosen.texts.clone() },
            text_warnings: own.warnings,
            language: config.language.clone(),
            projection: config.budget(&chosen.model),
            plan_file: path::escape(self.plan_file(session).as_os_str().as_bytes()),
            session_dir: path::escape(session_dir.as_os_str().as_bytes()),
            tool_env: Arc::new(ToolEnv {
                roots: self.roots.clone().into(),
                client_env: Arc::clone(&client.env),
                session_dir,
                readable: self.readable(&sources).await.into(),
                plan_file: self.plan_file(session),
                protected: self.protected(),
                pre_images: self.folder.join("pre-images"),
                writable: writable.into(),
                secret_env: config.secret_env().into(),
            }),
            workspace: self.workspace.clone(),
            config_folder: self.shared.folders.config.clone(),
            sources,
            memories: Arc::clone(&self.memories),
        })
    }

    /// Texts in the place of built-in ones, now, for a model with this window. The project's own count when it is trusted.
    fn own_texts(&self, window: u64) -> OwnTexts {
        let root = self.roots.first().filter(|_| self.lasting.known().trusted);
        self.texts.find(&self.shared.folders, root.map(PathBuf::as_path), window)
    }

    /// What decisions of a turn are made with now.
    pub(super) fn policy(&self, turn: &TurnSetup) -> Policy {
        let known = self.lasting.known();
        let mut rules = turn.permissions.rules.clone();
        rules.extend(known.rules);
        rules.extend(turn.allow.iter().cloned());
        let modes = turn.permissions.modes();
        Policy { rules, trusted: known.trusted, sandbox: turn.sandbox, shell: turn.shell, modes }
    }

    /// What clients are told of the project.
    pub(super) fn info(&self, record: ProjectRecord) -> ProjectInfo {
        let trusted = self.lasting.known().trusted;
        ProjectInfo { key: record.key, roots: record.roots, created_at: record.created_at, trusted }
    }

    /// Where the plan of a session is kept.
    fn plan_file(&self, session: &SessionId) -> PathBuf {
        self.folder.join("plans").join(format!("{}.md", session.as_str()))
    }

    /// What tools may always read: the project's own folder, what is remembered for the user, and the texts outside the
    /// project that the model is told of.
    async fn readable(&self, sources: &Sources) -> Vec<PathBuf> {
        let folders = &self.shared.folders;
        let (config, sources) = (folders.config.clone(), sources.clone());
        let mut places = vec![self.folder.clone(), folders.data.join(MEMORIES), config.join("rules")];
        places.push(config.join(instructions::NAME));
        places.extend(sources.managed.iter().map(|managed| managed.join(instructions::NAME)));
        let found = tokio::task::spawn_blocking(move || {
            let mut places: Vec<PathBuf> = places.iter().map(|path| canonical(path)).collect();
            places.extend(skills::folders(&config, &sources));
            places
        });
        let mut readable = found.await.unwrap_or_default();
        // What lies in the project is an ordinary file there, unless it lies in a folder that is out of reach otherwise.
        readable.sort();
        readable.dedup();
        let below = |folders: &[PathBuf], path: &Path| folders.iter().any(|folder| path.starts_with(folder));
        let protected = self.protected();
        readable.retain(|path| below(&protected, path) || !below(&self.roots, path));
        readable
    }

    fn protected(&self) -> Arc<[PathBuf]> {
        let folders = &self.shared.folders;
        [&folders.config, &folders.data, &folders.runtime].into_iter().map(|path| canonical(path)).collect()
    }
}

impl TurnSetup {
    /// What a machine works with for this turn.
    pub(super) fn settings(&self, mode: Mode, policy: Policy) -> Settings {
        Settings {
            model: self.profile.clone(),
            mode,
            policy,
            max_steps: self.max_steps,
            session_cost: self.session_cost,
            prompts: self.prompts.clone(),
            language: self.language.clone(),
            projection: self.projection,
            plan_file: self.plan_file.clone(),
            session_dir: self.session_dir.clone(),
        }
    }

    /// Takes over with which model the running turn works: what waits behind it must not find another one in its middle.
    pub(super) fn with_model_of(&mut self, running: &Self) {
        self.profile = running.profile.clone();
        self.endpoint = running.endpoint.clone();
        self.key.clone_from(&running.key);
        self.calibration = running.calibration;
    }

    /// The surroundings now. What cannot be told is said in their place: a turn never fails for it.
    pub(super) async fn collect(&self, editor: EditorState, wanted: Wanted) -> Environment {
        let env = Arc::clone(&self.tool_env);
        // A slow file system holds up this turn and nothing else.
        let read = tokio::task::spawn_blocking(move || attached::read(&env, wanted.attachments));
        let facts = ClientFacts {
            env: Arc::clone(&self.tool_env.client_env),
            shell: match self.shell {
                Shell::Bash => BASH.to_owned(),
                Shell::Other => SH.to_owned(),
            },
            config_dir: self.config_folder.clone(),
            sources: self.sources.clone(),
            need_layout: true,
        };
        let memories = self.memories.entries().await;
        let plan_file_exists = plan::exists(&self.tool_env.plan_file);
        let pre_images = PreImages::new(&self.tool_env.pre_images);
        let kept = move |version: FileVersion| pre_images.read(&version.to_string()).ok();
        let (collected, user_edits) =
            tokio::join!(self.workspace.collect(&facts, editor.clone()), self.workspace.edited(wanted.known, kept));
        let mut environment = match collected {
            Ok(environment) => Environment { memories, user_edits, plan_file_exists, ..environment },
            // The root went away between the check and this: the tools will say so too.
            Err(error) => Environment {
                git: vec![GitBlock::Unavailable(error.to_string())],
                memories,
                editor,
                plan_file_exists,
                revision: self.workspace.revision(),
                ..Environment::default()
            },
        };
        match read.await {
            Ok((attached, images)) => (environment.attached, environment.images) = (attached, images),
            Err(error) => {
                tracing::error!(%error, "reading what was attached broke down");
                let content = Err("an internal fault; the daemon's log has more".to_owned());
                environment.attached = vec![AttachedFile { path: "attachments".to_owned(), content }];
            }
        }
        environment
    }
}

/// The canonical form of a path, itself where it does not exist.
pub(super) fn canonical(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_path_buf())
}

/// The key that the model needs is not there.
pub(super) fn key_missing(message: String) -> ApiError {
    ApiError::new(ApiErrorKind::AuthRequired, message)
        .hint("set the variable where your editor or shell starts, start that again, then try again")
}

fn config_error(error: &crate::config::ConfigError) -> ApiError {
    ApiError::new(ApiErrorKind::Config, error.to_string()).hint(error.fix.clone())
}
