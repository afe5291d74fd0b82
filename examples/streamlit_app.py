"""Streamlit: a chat page.

Run: `pip install streamlit`, then `streamlit run streamlit_app.py`.
"""

import streamlit as st

from llmcore import Message, sync

model = "openai:gpt-5.2"
history = st.session_state.setdefault("history", [])
for message in history:
    st.chat_message(message.role).write(message.text)
if question := st.chat_input("Ask something"):
    st.chat_message("user").write(question)
    with sync.stream(model, messages=[*history, Message.user(question)]) as answer:
        st.chat_message("assistant").write_stream(answer.text_stream)
        st.session_state.history = list(answer.result().messages)
