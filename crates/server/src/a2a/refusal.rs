//! The one table from refusals of the engine and the desk to A2A's codes. What they say is kept;
//! an error of ours says no more than what to do.

use shrooms_a2a::{A2aError, ErrorCode};
use shrooms_core::{Kind, Refusal};
use shrooms_engine::EngineError;

/// A refusal as A2A says it.
pub(super) fn refused(error: EngineError) -> A2aError {
    let text = error.to_string();
    let EngineError::Refused(refusal) = &error else {
        tracing::warn!(%error, "a call failed");
        let text = match error.kind() {
            Kind::Unavailable => text,
            _ => "this daemon has a fault: see its log".to_string(),
        };
        return A2aError::new(ErrorCode::InternalError, text);
    };
    A2aError::new(code(refusal), text)
}

/// A refused cancel: what has ended cannot be cancelled.
pub(super) fn refused_cancel(error: EngineError) -> A2aError {
    match error {
        EngineError::Refused(Refusal::Ended { .. }) => A2aError::new(ErrorCode::TaskNotCancelable, error.to_string()),
        other => refused(other),
    }
}

fn code(refusal: &Refusal) -> ErrorCode {
    match refusal {
        Refusal::NoTask { .. } => ErrorCode::TaskNotFound,
        Refusal::Ended { .. } => ErrorCode::UnsupportedOperation,
        Refusal::QueueFull { .. }
        | Refusal::TooManyAnswers { .. }
        | Refusal::TooManySaid { .. }
        | Refusal::TooManyAsks { .. }
        | Refusal::TooManySessions { .. } => ErrorCode::QueueFull,
        Refusal::LoopGuard { .. } => ErrorCode::LoopGuard,
        Refusal::NotYourTask { .. }
        | Refusal::NotYourAsk { .. }
        | Refusal::UpdateFromAway
        | Refusal::NotInTerminal
        | Refusal::WrongReporter { .. }
        | Refusal::OwnersOnly { .. }
        | Refusal::DeviceMayNot { .. } => ErrorCode::NotAllowed,
        Refusal::FreshImpossible { .. } => ErrorCode::FreshImpossible,
        Refusal::BadName { .. }
        | Refusal::ReservedName { .. }
        | Refusal::BadAgent { .. }
        | Refusal::BadTaskRef { .. }
        | Refusal::NameTaken { .. }
        | Refusal::NameInUse { .. }
        | Refusal::NoSession { .. }
        | Refusal::NoAsk { .. }
        | Refusal::NothingRuns { .. }
        | Refusal::AtWork { .. }
        | Refusal::Attached { .. }
        | Refusal::NotAttached { .. }
        | Refusal::ConversationTaken { .. }
        | Refusal::NotWaiting { .. }
        | Refusal::OpenTasks { .. }
        | Refusal::NoPrompt { .. }
        | Refusal::PromptOver { .. }
        | Refusal::WrongAnswer { .. }
        | Refusal::EmptyText
        | Refusal::NoMessageId
        | Refusal::TooLong { .. }
        | Refusal::TooManyRefs { .. }
        | Refusal::TooManyMade { .. }
        | Refusal::IdOfAnother { .. }
        | Refusal::OtherText { .. }
        | Refusal::LongGone { .. }
        | Refusal::BadWord { .. }
        | Refusal::NotBegun { .. }
        | Refusal::BadSetting { .. }
        | Refusal::HidesFromYou { .. }
        | Refusal::NoConversation { .. } => ErrorCode::InvalidParams,
    }
}
